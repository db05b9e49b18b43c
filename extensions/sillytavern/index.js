// Loreloom in SillyTavern: connects its events with the parts of the extension.
import { addCommands, addMacros } from './commands.js';
import { showChips } from './chips.js';
import { button } from './dom.js';
import { Drawer, askRecap } from './drawer.js';
import { Generations } from './generation.js';
import { Lender } from './lend.js';
import { Panel } from './panel.js';
import { Reporter } from './report.js';
import { settings } from './settings.js';
import { Known } from './story.js';
import { say } from './words.js';

const getContext = () => SillyTavern.getContext();

const known = new Known();
const reporter = new Reporter(known);
const lender = new Lender();
let drawer = null;
let panel = null;
const generations = new Generations({ known, reporter, changed: () => refresh() });

/** Shows what is new. */
function refresh() {
  showChips(getContext().chat, (index) => drawer?.open(index));
  panel?.refresh();
  void drawer?.refresh();
  void lender.work();
}

// SillyTavern finds the interceptor by this name, which the manifest gives.
globalThis.loreloomIntercept = async (chat, room, _abort, type) => {
  lender.busy();
  await generations.intercept(chat, room, type);
};

function listen() {
  const { eventSource, event_types: events } = getContext();
  const on = (event, listener) => event && eventSource.on(event, listener);
  on(events.WORLDINFO_ENTRIES_LOADED, (lists) => generations.entriesLoaded(lists));
  on(events.WORLDINFO_SCAN_DONE, (scan) => generations.scanned(scan));
  on(events.CHAT_COMPLETION_SETTINGS_READY, (data) =>
    generations.chatCompletion(data, lender.isAsking),
  );
  on(events.TEXT_COMPLETION_SETTINGS_READY, (params) => generations.textCompletion(params));
  on(events.MESSAGE_RECEIVED, (index, type) => generations.received(Number(index), type));
  on(events.GENERATION_ENDED, () => {
    lender.paused();
    generations.ended();
  });
  on(events.GENERATION_STOPPED, () => generations.ended());
  on(events.CHAT_CHANGED, () => {
    generations.left();
    reporter.soon();
    refresh();
    void welcomeBack();
  });
  for (const event of [
    events.MESSAGE_EDITED,
    events.MESSAGE_UPDATED,
    events.MESSAGE_DELETED,
    events.MESSAGE_SWIPED,
    events.MESSAGE_SENT,
  ])
    on(event, () => reporter.soon());
  for (const event of [
    events.CHARACTER_MESSAGE_RENDERED,
    events.MESSAGE_UPDATED,
    events.MESSAGE_SWIPED,
    events.MORE_MESSAGES_LOADED,
  ])
    on(event, () => refresh());
}

/** Tells what happened before, if nobody has written in this chat for some hours. */
async function welcomeBack() {
  const idOf = () => getContext().chatMetadata.loreloom?.chat;
  const chat = idOf();
  if (!chat || settings().mode === 'off') return;
  // Without a model or a story there is nothing to tell, and nothing to report.
  const recap = await askRecap(chat, true).catch(() => null);
  if (!recap || chat !== idOf()) return;
  const options = { timeOut: 0, extendedTimeOut: 0, closeButton: true, escapeHtml: true };
  toastr.info(recap, say('What happened so far?'), options);
}

/** An entry of the menu beside the text field. */
function addToMenu() {
  const item = button('Loreloom', () => drawer.toggle(), {
    id: 'loreloom_menu',
    class: 'list-group-item flex-container flexGap5 interactable',
    title: say('What was woven, and why'),
  });
  document.getElementById('extensionsMenu')?.append(item);
}

function start() {
  drawer = new Drawer(() => generations.status);
  panel = new Panel(() => refresh());
  addToMenu();
  addCommands({ drawer, reporter, changed: () => refresh() });
  addMacros(() => generations.placement.slots);
  listen();
  if (settings().mode !== 'off') void panel.check();
  // For tests, and for others who look for us.
  globalThis.loreloom = { generations, reporter, known, drawer, settings };
}

const { eventSource, event_types } = getContext();
eventSource.on(event_types.APP_READY, start);
