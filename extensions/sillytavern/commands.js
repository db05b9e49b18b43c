// Slash commands and macros.
import { askRecap, remember } from './drawer.js';
import { rowWords } from './reasons.js';
import { call, diagnose, part } from './server.js';
import { MODES, change, settings } from './settings.js';
import { chatId } from './story.js';
import { lastOf } from './woven.js';
import { say, statusWords } from './words.js';

const getContext = () => SillyTavern.getContext();

/** The id of the open chat; says so if none is open. */
function openChat() {
  const chat = chatId(getContext());
  if (!chat) toastr.info(say('No chat is open.'));
  return chat;
}

async function why(query, drawer) {
  const woven = lastOf(getContext().chat);
  if (!woven?.turn) return say('Nothing is woven into this chat yet.');
  await drawer.why(query);
  const path = `/chats/${part(woven.chat)}/turns/${woven.turn}/verdicts`;
  const { items } = await call('GET', `${path}?q=${part(query)}&limit=10`);
  return (
    items.map((one) => `${one.title}: ${rowWords(one, items)}`).join('\n') || say('No entry fits.')
  );
}

async function pin(query) {
  const chat = openChat();
  if (!chat) return '';
  const { items } = await call('GET', `/chats/${part(chat)}/memory?limit=200`);
  const words = query.trim().toLowerCase();
  const found = items.filter(
    (one) => one.active && JSON.stringify(one.fields).toLowerCase().includes(words),
  );
  if (!words || found.length !== 1)
    return say('{count} memories fit: name one more exactly.', { count: words ? found.length : 0 });
  const body = { owner: found[0].owner, deed: 'pin' };
  await call('POST', `/memory/records/${part(found[0].id)}/deeds`, { body });
  return say('Pinned.');
}

async function rememberIt(text) {
  const chat = openChat();
  if (!chat || !text.trim()) return '';
  await remember(chat, text);
  return say('Remembered.');
}

async function recap() {
  const chat = openChat();
  return chat ? ((await askRecap(chat)) ?? say('There is nothing to tell yet.')) : '';
}

function mode(name, changed) {
  if (!name) return settings().mode;
  if (!MODES.includes(name)) return say('The modes are: {modes}', { modes: MODES.join(', ') });
  change({ mode: name });
  changed();
  return name;
}

/** Adds the commands. A command that fails says why instead of stopping a script. */
export function addCommands({ drawer, reporter, changed }) {
  const { SlashCommandParser, SlashCommand, SlashCommandArgument, ARGUMENT_TYPE } = getContext();
  const add = (name, helpString, run, argument) =>
    SlashCommandParser.addCommandObject(
      SlashCommand.fromProps({
        name: `loreloom-${name}`,
        helpString: say(helpString),
        callback: async (_named, text) => {
          try {
            return (await run(String(text ?? ''))) ?? '';
          } catch (error) {
            return statusWords(error);
          }
        },
        unnamedArgumentList: argument
          ? [
              SlashCommandArgument.fromProps({
                description: say(argument),
                typeList: [ARGUMENT_TYPE.STRING],
              }),
            ]
          : [],
      }),
    );
  add(
    'why',
    'Why an entry was woven in or left out at the last reply.',
    (text) => why(text, drawer),
    'title or key',
  );
  add('recap', 'What happened so far.', recap);
  add('pin', 'Pins the memory that contains these words.', pin, 'words of the memory');
  add(
    'remember',
    'Notes something that the story must not forget.',
    rememberIt,
    'what to remember',
  );
  add('off', 'Switches Loreloom off.', () => mode('off', changed));
  add('mode', 'Shows or sets the mode of Loreloom.', (text) => mode(text.trim(), changed), 'mode');
  add('status', 'Says whether Loreloom can be reached.', async () => statusWords(await diagnose()));
  add('sync', 'Reports the open chat to Loreloom now.', async () => {
    await reporter.now();
    return say('Done.');
  });
}

/** Adds `{{loreloom::slot}}` for the texts of memory. */
export function addMacros(slots) {
  getContext().macros?.register('loreloom', {
    category: 'Loreloom',
    description: say(
      'The text of one slot of Loreloom’s memory, for example {{loreloom::recall}}.',
    ),
    unnamedArgs: [{ name: 'slot', description: say('The name of the slot') }],
    handler: ({ unnamedArgs: [slot] }) => slots()[slot?.trim()] ?? '',
  });
}
