// The prompt with Loreloom deciding World Info is the prompt that SillyTavern makes itself.
import { expect, importBook, lorebook, model, test } from './kit.js';

const ENTRIES = [
  { comment: 'Always', constant: true, content: 'Harrow is a harbour.', position: 0, order: 10 },
  { comment: 'Bell', key: ['bell'], content: 'The bell is cracked.', position: 0, order: 90 },
  { comment: 'Rope', key: ['cracked'], content: 'The rope is wet.', position: 1, order: 50 },
  { comment: 'Wet', key: ['wet'], content: 'Everything rots.', position: 1, order: 40 },
  {
    comment: 'Tide',
    key: ['/tides?/i'],
    content: 'The tide turns at dusk.',
    position: 4,
    depth: 1,
  },
  { comment: 'Deep', key: ['sea'], content: 'The sea is deep.', position: 4, depth: 3, role: 1 },
  {
    comment: 'Deeper',
    key: ['sea'],
    content: 'It is cold.',
    position: 4,
    depth: 3,
    role: 1,
    order: 9,
  },
  { comment: 'Voice', key: ['song'], content: 'La, la.', position: 4, depth: 0, role: 2 },
  { comment: 'Top', key: ['note'], content: 'Above the note.', position: 2 },
  { comment: 'Bottom', key: ['note'], content: 'Below the note.', position: 3 },
  {
    comment: 'Both',
    key: ['oar'],
    keysecondary: ['boat', 'ship'],
    selectiveLogic: 3,
    content: 'Oars for boats and ships.',
    position: 0,
  },
  {
    comment: 'Neither',
    key: ['oar'],
    keysecondary: ['storm'],
    selectiveLogic: 2,
    content: 'A calm day.',
    position: 1,
  },
  { comment: 'Whole', key: ['cat'], matchWholeWords: true, content: 'A cat.', position: 0 },
  { comment: 'Case', key: ['Wren'], caseSensitive: true, content: 'Wren is here.', position: 1 },
  { comment: 'Far', key: ['anchor'], scanDepth: 6, content: 'The anchor holds.', position: 0 },
  { comment: 'Persona', key: ['smuggler'], matchPersonaDescription: true, content: 'A secret.' },
  {
    comment: 'Card',
    key: ['keeps the harbour'],
    matchCharacterDescription: true,
    content: 'A keeper has keys.',
    position: 1,
  },
];

const MAINS = [
  "Write {{char}}'s next reply in a fictional chat between {{char}} and {{user}}.",
  'You are a storyteller. Stay in the scene.',
  'Continue. Never speak for the others.\nKeep it short.',
  '<role>Narrator</role> Describe what happens.',
];

const SAID = [
  'I ring the bell.',
  'The tide is late.',
  'The sea and the song.',
  'A note lies on the table.',
  'I need an oar for the boat.',
  'An oar, a boat and a ship, and no storm.',
  'The catalogue has a cat.',
  'wren or Wren?',
  'Drop the anchor.',
  'Nothing happens.',
  'Still nothing.',
  'The bell, the sea, the tides, the oar.',
  'A smuggler rings the bell twice.',
  'The storm takes the oar.',
  'We sing a song about a cat.',
];

/** The last prompt: messages, or one text. */
const sent = async () => {
  const { messages, prompt } = (await model()).at(-1).body;
  return messages ?? prompt;
};

/** The prompt of one turn, made by SillyTavern alone and with Loreloom. */
async function both(tavern, say, speaker) {
  await tavern.set({ mode: 'off' });
  await tavern.command(`/send ${say}`);
  await tavern.command(`/trigger await=true ${speaker}`);
  const own = await sent();
  await tavern.command('/cut {{lastMessageId}}');
  await tavern.set({ mode: 'slots' });
  await tavern.command(`/trigger await=true ${speaker}`);
  await tavern.idle();
  return [own, await sent()];
}

// Each main prompt is a test of its own: one that fails is tried again alone.
for (const [at, main] of MAINS.entries()) {
  const isGroup = at % 2 === 1;
  const kind = `${isGroup ? 'in a group' : 'solo'} with main prompt ${at + 1}`;
  test(`sixty turns have the same prompt, ${kind}`, async ({ tavern }) => {
    test.setTimeout(400_000);
    expect(MAINS.length * SAID.length).toBeGreaterThanOrEqual(60);
    await importBook('same', ENTRIES);
    await tavern.ownBook('Same', lorebook(ENTRIES));
    await tavern.set({ served: { Same: 'same' } });
    await model({ set: { reply: 'So it is.' } });
    const cast = isGroup ? ['Same', 'Other'] : ['Same'];
    for (const name of cast) await tavern.character(name);
    if (isGroup) await tavern.group('Folk', cast, 2);
    await tavern.command('/note A quiet day.');
    await tavern.page.evaluate((content) => {
      const { chatCompletionSettings, powerUserSettings } = SillyTavern.getContext();
      chatCompletionSettings.prompts.find((one) => one.identifier === 'main').content = content;
      powerUserSettings.persona_description = 'A smuggler from the north.';
    }, main);
    const turns = [];
    for (const [turn, say] of SAID.entries()) {
      const [own, woven] = await both(tavern, say, isGroup ? cast[turn % 2] : '');
      expect(woven, `${main}: ${say}`).toEqual(own);
      turns.push((await tavern.woven()).threads.length);
    }
    expect(turns.length).toBe(15);
    const fired = turns.reduce((sum, count) => sum + count, 0);
    expect(fired, 'lore took part').toBeGreaterThan(35);
  });
}

const TEMPLATES = ['Alpaca', 'ChatML', 'Llama 3 Instruct'];

/** Plays the same turns with each template; every prompt must be SillyTavern's own. */
async function withTemplates(tavern, said, speakerOf, begin = async () => {}) {
  await importBook('same', ENTRIES);
  await tavern.ownBook('Same', lorebook(ENTRIES));
  await tavern.set({ served: { Same: 'same' } });
  await model({ set: { reply: 'So it is.' } });
  await tavern.textCompletion();
  let fired = 0;
  for (const template of TEMPLATES) {
    await tavern.command(`/context quiet=true ${template}`);
    await tavern.command(`/instruct quiet=true ${template}`);
    await begin();
    for (const [turn, say] of said.entries()) {
      const [own, woven] = await both(tavern, say, speakerOf(turn));
      expect(typeof own).toBe('string');
      expect(woven, `${template}: ${say}`).toBe(own);
      expect(await tavern.story()).toContain(say);
      fired += (await tavern.woven()).threads.length;
    }
  }
  return fired;
}

test('text completion has the same prompt with three templates', async ({ tavern }) => {
  test.setTimeout(300_000);
  await tavern.character('Texter');
  const fired = await withTemplates(
    tavern,
    SAID.slice(0, 5),
    () => '',
    () => tavern.newChat(),
  );
  expect(fired, 'lore took part').toBeGreaterThan(30);
});

test('text completion has the same prompt in a group with three templates', async ({ tavern }) => {
  test.setTimeout(300_000);
  const members = ['Texta', 'Textor'];
  for (const name of members) await tavern.character(name);
  await tavern.group('Text folk', members, 2);
  await tavern.command('/note A quiet day.');
  const fired = await withTemplates(tavern, SAID.slice(0, 4), (turn) => members[turn % 2]);
  expect(fired, 'lore took part').toBeGreaterThan(30);
  const asked = (await model()).map(({ body }) => body.prompt.slice(-60));
  for (const name of members)
    expect(asked.filter((end) => end.includes(name)).length, name).toBeGreaterThan(5);
});
