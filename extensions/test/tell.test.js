import assert from 'node:assert/strict';
import { test } from 'node:test';
import { announcement, carries, facts, noteOf, ownField, withField } from '../sillytavern/tell.js';

const context = {
  mainApi: 'openai',
  chatCompletionSettings: {
    chat_completion_source: 'custom',
    openai_max_context: 8192,
    openai_max_tokens: 200,
  },
  getCurrentChatId: () => 'file',
  chatMetadata: { loreloom: { chat: 'st-1' }, note_prompt: 'Rain.' },
  name1: 'Wren',
  name2: 'Mira',
  characterId: 0,
  characters: [{ name: 'Mira', avatar: 'mira.vell.png' }],
  tagMap: { 'mira.vell.png': ['7', '8'] },
  tags: [{ id: '7', name: 'harbour' }],
  groups: [{ id: 'g', name: 'Harbour folk' }],
  getCharacterCardFields: () => ({
    description: 'A keeper.',
    persona: 'A smuggler.',
    scenario: ' ',
    mesExamples: '<START>',
  }),
};

test('names, card, sizes and the kind of generation are told', () => {
  const told = facts(context, 'group_chat', 7992);
  assert.deepEqual(told, {
    chat: 'st-1',
    generation: 'normal',
    user: 'Wren',
    character: { name: 'Mira', file: 'mira.vell', tags: ['harbour'] },
    group: null,
    card: { persona: 'A smuggler.', description: 'A keeper.' },
    examples: '<START>',
    note: 'Rain.',
    context: 8192,
    reply: 200,
  });
  assert.deepEqual(ownField(told), {
    chat: 'st-1',
    type: 'normal',
    user: 'Wren',
    char: 'Mira',
    card: told.card,
    placed_note: 'Rain.',
    context: 8192,
    max_tokens: 200,
    macros: { mesExamples: '<START>' },
  });
  assert.deepEqual(announcement(told, 'I knock.'), {
    chat: 'st-1',
    newest: 'I knock.',
    generation: 'normal',
    user: 'Wren',
    character: 'Mira',
    card: told.card,
    placed_note: 'Rain.',
    examples: '<START>',
    context: 8192,
    max_tokens: 200,
  });
  assert.equal(facts({ ...context, groupId: 'g' }, 'normal').group, 'Harbour folk');
});

test('a note that is switched off is none', () => {
  const chatMetadata = { ...context.chatMetadata, note_interval: 0 };
  assert.equal(noteOf({ ...context, chatMetadata }), null);
});

test('the note of a character is before, after or in place of that of the chat', () => {
  const note = (position) => ({
    chara: [{ name: 'mira.vell', prompt: 'Wind.', useChara: position !== null, position }],
  });
  const found = [null, 0, 1, 2].map((position) =>
    noteOf({ ...context, extensionSettings: { note: note(position) } }),
  );
  assert.deepEqual(found, ['Rain.', 'Wind.', 'Wind.\nRain.', 'Rain.\nWind.']);
});

test('only some sources carry our field', () => {
  const chat = (source) => ({
    mainApi: 'openai',
    chatCompletionSettings: { chat_completion_source: source },
  });
  const text = (type) => ({ mainApi: 'textgenerationwebui', textCompletionSettings: { type } });
  const all = [chat('custom'), chat('openai'), text('koboldcpp'), text('generic')];
  assert.deepEqual(all.map(carries), [true, false, true, false]);
});

test('the YAML that the user wrote stays', () => {
  for (const [own, expected] of [
    ['', '{"loreloom": {"a":1}}'],
    ['min_p: 0.1', 'min_p: 0.1\nloreloom: {"a":1}'],
    ['- min_p: 0.1\n- top_k: 4\n', '- min_p: 0.1\n- top_k: 4\n- {"loreloom": {"a":1}}'],
    ['{"min_p": 0.1}', '{"min_p": 0.1, "loreloom": {"a":1}}'],
    ['{}', '{"loreloom": {"a":1}}'],
    ['# mine\nmin_p: 0.1', '# mine\nmin_p: 0.1\nloreloom: {"a":1}'],
  ])
    assert.equal(withField(own, 'loreloom', { a: 1 }), expected, own);
});
