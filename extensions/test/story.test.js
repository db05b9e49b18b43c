import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BEGINNING, Known, chatId, kindOf, storyOf } from '../sillytavern/story.js';

const said = (mes, more = {}) => ({ name: 'Mira', mes, is_user: false, extra: {}, ...more });

test('messages of the story are kept, help texts are not', () => {
  const chat = [
    said('Mira looks up.'),
    said('I knock.', { name: 'Wren', is_user: true }),
    said('A storm begins.', { name: 'System', extra: { type: 'narrator' } }),
    said('psst', { is_system: true }),
    said('Welcome!', { is_system: true, extra: { type: 'welcome' } }),
    said('  '),
  ];
  assert.deepEqual(storyOf(chat), [
    { role: 'assistant', name: 'Mira', content: 'Mira looks up.', hidden: false },
    { role: 'user', name: 'Wren', content: 'I knock.', hidden: false },
    {
      role: 'assistant',
      name: 'System',
      content: 'A storm begins.',
      hidden: false,
      narrator: true,
    },
    { role: 'assistant', name: 'Mira', content: 'psst', hidden: true },
  ]);
});

test('a swipe leaves out the reply that it replaces, and nothing else', () => {
  const chat = [said('I knock.', { is_user: true }), said('Who is there?')];
  assert.deepEqual(
    storyOf(chat, 'swipe').map((one) => one.content),
    ['I knock.'],
  );
  assert.equal(storyOf(chat, 'continue').length, 2);
  assert.equal(storyOf(chat.slice(0, 1), 'swipe').length, 1);
});

test('a chat keeps its id, and only a branch shares it', () => {
  const context = {
    chatMetadata: { integrity: 'a' },
    getCurrentChatId: () => 'file',
    saveMetadataDebounced: () => (context.saved = true),
  };
  const id = chatId(context);
  assert.match(id, /^st-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.ok(context.saved);
  assert.equal(chatId(context), id);
  // SillyTavern copies the metadata into a branch and gives it another integrity.
  const copy = { ...context.chatMetadata, integrity: 'b' };
  const branch = { ...context, chatMetadata: { ...copy, main_chat: 'file' } };
  assert.equal(chatId(branch), id);
  // A copy that is no branch is another chat.
  const other = { ...context, chatMetadata: copy };
  assert.notEqual(chatId(other), id);
  assert.equal(chatId(other), other.chatMetadata.loreloom.chat);
  assert.equal(chatId({ chatMetadata: {}, getCurrentChatId: () => undefined }), null);
});

test('only new messages are sent while the earlier ones stay', () => {
  const known = new Known();
  const [one, two, three] = ['a', 'b', 'c'].map((content) => ({
    role: 'user',
    name: null,
    content,
    hidden: false,
  }));
  assert.deepEqual(known.rest('x', [one]), { tip: BEGINNING, messages: [one] });
  known.set('x', 'node', [one, two]);
  assert.deepEqual(known.rest('x', [one, two, three]), { tip: 'node', messages: [three] });
  assert.deepEqual(known.rest('x', [one]), { tip: BEGINNING, messages: [one] });
  const hidden = { ...one, hidden: true };
  assert.deepEqual(known.rest('x', [hidden, two]).messages, [hidden, two]);
  assert.deepEqual(known.rest('y', [one, two]), { tip: BEGINNING, messages: [one, two] });
  assert.equal(known.has('x', [one, two]), true);
  assert.equal(known.has('x', [one, { ...two, content: 'edited' }]), false);
});

test('kinds that only SillyTavern knows are normal', () => {
  assert.deepEqual(['swipe', 'group_chat', undefined].map(kindOf), ['swipe', 'normal', 'normal']);
});
