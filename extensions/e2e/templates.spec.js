// The proxy alone, in each template that SillyTavern ships: its lore is where SillyTavern puts
// its own. The extension is off.
import { expect, importBook, lorebook, loreloomUrl, model, test } from './kit.js';

/** Every place that a prompt of text has, and each role. */
const ENTRIES = [
  { comment: 'Before', key: ['bell'], content: 'Before the card.', position: 0 },
  { comment: 'After', key: ['bell'], content: 'After the card.', position: 1 },
  { comment: 'System', key: ['bell'], content: 'Two from the end.', position: 4, depth: 2 },
  { comment: 'User', key: ['bell'], content: 'One from the end.', position: 4, depth: 1, role: 1 },
  { comment: 'Model', key: ['bell'], content: 'Three from it.', position: 4, depth: 3, role: 2 },
  { comment: 'Newest', key: ['bell'], content: 'At the very end.', position: 4, depth: 0 },
];

/** Templates in which ours is elsewhere: they have no marks between turns, or SillyTavern writes
 * texts of the system without any mark or under the character's name. */
const OTHERS = [
  ...['Adventure', 'Alpaca-Single-Turn', 'Libra-32B', 'Lightning 1.1', 'Llama-3-Instruct-Names'],
  ...['OpenOrca-OpenChat', 'Story', 'WizardLM', 'simple-proxy-for-tavern'],
];
/** What the model says, and is to continue. */
const BEGUN = 'She walks to';

/** The request that SillyTavern would send now. */
const request = (tavern, type) =>
  tavern.page.evaluate(async (kind) => {
    const { eventSource, event_types, generate } = SillyTavern.getContext();
    let data = null;
    const take = (made) => (data = { ...made });
    eventSource.once(event_types.GENERATE_AFTER_DATA, take);
    await generate(kind, {}, true);
    eventSource.removeListener(event_types.GENERATE_AFTER_DATA, take);
    return data && JSON.parse(JSON.stringify(data));
  }, type);

/** What the proxy makes of a request's prompt. */
async function woven({ prompt, stop, max_tokens }) {
  const response = await fetch(`${loreloomUrl()}/v1/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'user-agent': 'node-fetch' },
    body: JSON.stringify({ model: 'm', prompt, stop, max_tokens, stream: false }),
  });
  await response.text();
  expect(response.headers.get('x-loreloom-passed-on')).toBeNull();
  return (await model()).at(-1).body.prompt;
}

const names = (tavern, select) =>
  tavern.page.locator(`${select} option`).evaluateAll((all) => all.map((one) => one.text));

test('lore is where SillyTavern puts its own, in every template', async ({ tavern }) => {
  test.setTimeout(600_000);
  await importBook('same', ENTRIES);
  await tavern.ownBook('Same', lorebook(ENTRIES));
  await tavern.textCompletion();
  await tavern.character('Mira Vell', { first_mes: 'The door opens.' });
  for (const line of ['/send Who is there?', '/sendas name="Mira Vell" Nobody.', '/send The bell?'])
    await tavern.command(line);
  const contexts = await names(tavern, '#context_presets');
  const templates = (await names(tavern, '#instruct_presets')).filter(
    (name) => !OTHERS.includes(name),
  );
  expect(templates.length).toBeGreaterThan(28);
  await model({ set: { reply: BEGUN } });
  const different = [];
  for (const template of templates) {
    const context = contexts.includes(template) ? template : 'Default';
    await tavern.command(`/context quiet=true ${context}`);
    await tavern.command(`/instruct quiet=true ${template}`);
    for (const type of ['normal', 'continue']) {
      if (type === 'continue') await tavern.command(`/sendas name="Mira Vell" ${BEGUN}`);
      await tavern.command('/world silent=true state=on Same');
      const own = await request(tavern, type);
      await tavern.command('/world silent=true state=off Same');
      const plain = await request(tavern, type);
      expect(own.prompt).not.toBe(plain.prompt);
      if ((await woven(plain)) !== own.prompt) different.push(`${template}, ${type}`);
    }
    await tavern.command('/cut {{lastMessageId}}');
  }
  expect(different).toEqual([]);
});
