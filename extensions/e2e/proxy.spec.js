// The proxy with requests that cannot carry anything of ours, and chats with the same words.
import { api, expect, importBook, lastPrompt, loreloomUrl, model, test } from './kit.js';

const ENTRIES = [
  {
    comment: 'Keeper',
    key: ['keeps the harbour'],
    matchCharacterDescription: true,
    content: 'A keeper has keys.',
  },
  {
    comment: 'Smuggler',
    key: ['smuggler'],
    matchPersonaDescription: true,
    content: 'A smuggler has secrets.',
  },
  { comment: 'Scenario', key: ['siege'], matchScenario: true, content: 'Nobody sleeps.' },
  { comment: 'Style', key: ['bell'], content: 'Like this: {{mesExamples}}', position: 1 },
  { comment: 'Top', key: ['bell'], content: 'Above the note.', position: 2 },
];

const CARD = { scenario: 'A long siege.', mes_example: '<START>\n{{char}}: Hush.' };

/** Everything that a request of SillyTavern's can be decided from. */
async function dressed(tavern, name) {
  await importBook('dressed', ENTRIES);
  await tavern.set({ mode: 'proxy' });
  await tavern.character(name, CARD);
  await tavern.page.evaluate(() => {
    SillyTavern.getContext().powerUserSettings.persona_description = 'A smuggler from the north.';
  });
  await tavern.command('/note-depth 1');
  await tavern.command('/note-role user');
  await tavern.command('/note A quiet day.');
}

const WOVEN = ['Keeper', 'Smuggler', 'Scenario', 'Style', 'Top'];

test('a source that carries nothing of ours is announced with all that is known', async ({
  tavern,
}) => {
  await dressed(tavern, 'Generic');
  await tavern.textCompletion(loreloomUrl());
  const asked = tavern.page.waitForRequest(/\/generations$/);
  await tavern.send('I hear the bell.', 'It rings.');
  const announced = (await asked).postDataJSON();
  expect(announced).toMatchObject({
    chat: await tavern.chat(),
    newest: 'I hear the bell.',
    generation: 'normal',
    character: 'Generic',
    card: {
      description: 'Generic keeps the harbour.',
      persona: 'A smuggler from the north.',
      scenario: 'A long siege.',
    },
    placed_note: 'A quiet day.',
  });
  expect(announced.examples).toContain('Hush.');
  expect(announced.context).toBeGreaterThan(announced.max_tokens);
  expect(announced.max_tokens).toBeGreaterThan(0);
  const prompt = await lastPrompt();
  expect(prompt).toContain('A keeper has keys.');
  expect(prompt).toContain('A smuggler has secrets.');
  expect(prompt).toMatch(/Like this: [^]*Generic: Hush\./);
  expect(prompt).toMatch(/Above the note\.\s+[^]*A quiet day\./);
  expect(await tavern.story()).toEqual(['Generic looks up.', 'I hear the bell.', 'It rings.']);
  const { threads } = await tavern.woven();
  expect(threads.map((one) => one.title).sort()).toEqual([...WOVEN].sort());
});

test('a request that carries our field tells the same', async ({ tavern }) => {
  await dressed(tavern, 'Custom');
  await tavern.connectTo(`${loreloomUrl()}/v1`);
  await tavern.send('I hear the bell.', 'It rings.');
  const { body } = (await model()).at(-1);
  const texts = body.messages.map(({ role, content }) => `${role}: ${content}`);
  const note = texts.indexOf('user: A quiet day.');
  expect(texts[note - 1]).toBe('system: Above the note.');
  expect(texts[note + 1]).toBe('user: I hear the bell.');
  expect(await tavern.story()).toEqual(['Custom looks up.', 'I hear the bell.', 'It rings.']);
  const { threads } = await tavern.woven();
  expect(threads.map((one) => one.title).sort()).toEqual([...WOVEN].sort());
});

/** Two chats with the same character in which the same is said. */
async function twice(tavern) {
  const chats = [];
  for (const reply of ['The first.', 'The second.']) {
    await tavern.newChat();
    await tavern.send('I knock.', 'Who is there?');
    await tavern.send('It is me.', reply);
    expect(await tavern.story()).toEqual([
      'Twin looks up.',
      'I knock.',
      'Who is there?',
      'It is me.',
      reply,
    ]);
    chats.push(await tavern.chat());
  }
  expect(chats[0]).not.toBe(chats[1]);
  for (const chat of chats) {
    const { nodes } = await api(`/chats/${chat}/tree`);
    expect(nodes.length, 'nothing of the other chat').toBe(5);
  }
}

for (const [name, mode, connect] of [
  ['in mode slots', 'slots', async () => {}],
  ['by the field of the request', 'proxy', (tavern) => tavern.connectTo(`${loreloomUrl()}/v1`)],
  ['by an announced request', 'proxy', (tavern) => tavern.textCompletion(loreloomUrl())],
])
  test(`two chats with the same words are two stories, ${name}`, async ({ tavern }) => {
    await tavern.set({ mode });
    await connect(tavern);
    await tavern.character('Twin');
    await twice(tavern);
  });

test('a story that began without the extension goes on with it', async ({ tavern }) => {
  await importBook('bell', [{ comment: 'Bell', key: ['bell'], content: 'It is cracked.' }]);
  await tavern.set({ mode: 'off' });
  await tavern.connectTo(`${loreloomUrl()}/v1`);
  await tavern.character('Later');
  await tavern.send('I come in.', 'Welcome.');
  await tavern.set({ mode: 'proxy' });
  await tavern.send('I hear the bell.', 'It rings.');
  expect(await lastPrompt()).toContain('It is cracked.');
  await tavern.drawerShows(['Bell']);
  expect(await tavern.story()).toEqual([
    'Later looks up.',
    'I come in.',
    'Welcome.',
    'I hear the bell.',
    'It rings.',
  ]);
});
