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
  on(events.GENERATION_AFTER_COMMANDS, (type, { automatic_trigger } = {}, isDry) => {
    const typed = document.getElementById('send_textarea')?.value ?? '';
    if (!isDry) generations.begins(type ?? 'normal', Boolean(typed) && !automatic_trigger);
  });
  on(events.USER_MESSAGE_RENDERED, () => generations.sent());
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

/** The chat that is open, and the recap on show for it. */
const opened = { chat: null, recap: null };

/** Shows what happened before, if nobody has written in this chat for some hours. */
async function welcomeBack() {
  const chat = getContext().chatMetadata.loreloom?.chat ?? null;
  // SillyTavern may announce one chat more than once.
  if (chat === opened.chat) return;
  opened.chat = chat;
  if (opened.recap) toastr.clear(opened.recap);
  opened.recap = null;
  if (!chat || settings().mode === 'off') return;
  // Without a model or a story there is nothing to show, and nothing to report.
  const recap = await askRecap(chat, true).catch(() => null);
  if (!recap || chat !== opened.chat || opened.recap) return;
  const options = { timeOut: 0, extendedTimeOut: 0, closeButton: true, escapeHtml: true };
  opened.recap = toastr.info(recap, say('What happened so far?'), options);
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
