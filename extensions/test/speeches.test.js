import assert from 'node:assert/strict';
import { test } from 'node:test';
import { joined, speeches } from '../sillytavern/speeches.js';

test('examples are cut at the names and put together again', () => {
  const text = '<START>\nWren: Hi.\nMira: Hello.\nCome in.\n<START>\nWren: Bye.\n';
  const pieces = speeches(text, ['Wren', 'Mira (keeper)', 'Mira']);
  assert.deepEqual(
    pieces.map((piece) => piece.content),
    ['Hi.', 'Hello.\nCome in.', 'Bye.'],
  );
  assert.equal(
    joined(
      pieces,
      pieces.map((piece) => piece.content),
    ),
    text,
  );
  assert.equal(
    joined(pieces, ['[1]', '[2]', '[3]']),
    '<START>\nWren: [1]\nMira: [2]\n<START>\nWren: [3]\n',
  );
});

test('a text without a speaker is one piece', () => {
  assert.deepEqual(speeches('It rains.', ['Wren']), [{ before: '', content: 'It rains.' }]);
});
