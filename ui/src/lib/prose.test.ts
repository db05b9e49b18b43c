import { expect, test } from 'vitest';
import { blocks, spans } from './prose';

test('marks become spans and everything else stays text', () => {
  expect(spans('She *nods* and says “Aye.” **Now** `x`')).toEqual([
    { kind: 'text', text: 'She ' },
    { kind: 'action', text: 'nods' },
    { kind: 'text', text: ' and says ' },
    { kind: 'quote', text: '“Aye.”' },
    { kind: 'text', text: ' ' },
    { kind: 'bold', text: 'Now' },
    { kind: 'text', text: ' ' },
    { kind: 'code', text: 'x' },
  ]);
  for (const plain of ['2 * 3 * 4', '*', '**', '<b>x</b>', 'a "b', '* a *', ''])
    expect(
      spans(plain)
        .map((span) => span.text)
        .join(''),
    ).toBe(plain);
  expect(spans('2 * 3 * 4')).toEqual([{ kind: 'text', text: '2 * 3 * 4' }]);
});

test('words are stressed within what is said', () => {
  expect(spans('"The **tide** waits."')).toEqual([
    {
      kind: 'quote',
      text: '"The **tide** waits."',
      inner: [
        { kind: 'text', text: '"The ' },
        { kind: 'bold', text: 'tide' },
        { kind: 'text', text: ' waits."' },
      ],
    },
  ]);
});

test('paragraphs and code blocks are kept apart', () => {
  expect(blocks('One\ntwo\n\nThree\n```js\n*not* an action\n```\nFour')).toEqual([
    { kind: 'paragraph', spans: [{ kind: 'text', text: 'One\ntwo' }] },
    { kind: 'paragraph', spans: [{ kind: 'text', text: 'Three' }] },
    { kind: 'code', text: '*not* an action' },
    { kind: 'paragraph', spans: [{ kind: 'text', text: 'Four' }] },
  ]);
});
