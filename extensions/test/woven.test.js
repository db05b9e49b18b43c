import assert from 'node:assert/strict';
import test from 'node:test';
import { turnOf } from '../sillytavern/woven.js';

const said = (node, name, text, turn) => ({ node, name, text, turn });
const PATH = [
  said('a', 'Wren', 'Who rings?', { id: 1, reply: 'b' }),
  said('b', 'Gil', 'Aye. ', { id: 2, reply: 'c' }),
  said('c', 'Gwen', 'Aye.', null),
];

test('a reply has its own turn, though the next speaker of the group has one already', () => {
  const turn = (name, seen, mes = 'Aye.') => turnOf(PATH, { name, mes }, seen)?.id;
  assert.equal(turn('Gil', -1), 1);
  assert.equal(turn('Gwen', 1), 2);
  assert.equal(turn('Gwen', 2), undefined);
  // A script of SillyTavern changed the text.
  assert.equal(turn('Gwen', 1, '*Aye.*'), 2);
  assert.equal(turnOf([said('a', 'Wren', 'Who?', { id: 1, reply: null })], PATH[1], -1), undefined);
});
