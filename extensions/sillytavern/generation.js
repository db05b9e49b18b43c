// One generation: what is asked of Loreloom before it, and what is kept after it.
//
// Everything before the request has one deadline and fails open: without an answer SillyTavern
// goes on as if there were no extension.
import { Annotation } from './annotate.js';
import { Placement, plan } from './place.js';
import { Question, saidOf } from './question.js';
import { base, call, part } from './server.js';
import { change, settings } from './settings.js';
import { kindOf, renamed, storyOf } from './story.js';
import { announcement, carries, facts, inHeader, ownField, withField } from './tell.js';
import { explain, keep, record, turnOf } from './woven.js';

const getContext = () => SillyTavern.getContext();

/** Generations whose story is known when they begin. */
const EARLY = new Set(['normal', 'swipe']);
/** Modes in which Loreloom is asked for texts. */
const WEAVING = new Set(['slots', 'watch']);
/** If more early questions in a row were useless, no more are asked: something else changes this
 * chat in between. */
const MISSES = 1;
/** Generations that leave no message in the story. */
const ASIDE = new Set(['quiet', 'impersonate']);
/** How long the stored turn is asked for after a reply that the proxy stores, at least, and how far
 * apart the calls are, in milliseconds. */
const STORED = 3000;
const PAUSE = 250;

const wait = (time) => new Promise((done) => setTimeout(done, time));

export class Generations {
  placement = new Placement();
  /** The last state: `{code, detail}`; `code` is `ok` or why there is no lore. */
  status = { code: 'idle' };
  /** How long the last interceptor took, in milliseconds. */
  took = 0;
  #known;
  #reporter;
  #current = null;
  #annotation = null;
  #changed;
  #settling = Promise.resolve();
  /** The kind of the generation that begins, until its question is asked. */
  #beginning = null;
  /** The question that was asked before the interceptor. */
  #question = null;
  /** How many early questions in a row had an answer that could not be used. */
  #misses = 0;
  /** The context without the reply, as the last interceptor got it. */
  #room;

  constructor({ known, reporter, changed }) {
    this.#known = known;
    this.#reporter = reporter;
    this.#changed = changed;
  }

  /** The interceptor: SillyTavern waits for it before it builds the prompt. */
  async intercept(chat, room, type) {
    const began = performance.now();
    const context = getContext();
    const { mode, deadline } = settings();
    this.placement.clear(context);
    this.#annotation = null;
    this.#current = null;
    this.#beginning = null;
    this.#room = room;
    if (mode === 'off') return;
    const told = facts(context, type, room);
    if (!told.chat) return;
    const current = { chat: told.chat, type: told.generation, mode, told, woven: null };
    this.#current = current;
    try {
      if (mode === 'proxy') await this.#announce(context, current, AbortSignal.timeout(deadline));
      else if (mode === 'annotate') this.#annotation = new Annotation(chat);
      else await this.#weave(context, current, deadline);
      this.#say({ code: 'ok' });
    } catch (error) {
      this.placement.clear(context);
      this.#say({ code: error.code ?? 'failed', detail: error.message });
    }
    this.took = performance.now() - began;
  }

  /**
   * A generation begins. What the interceptor will ask is asked now, if that is known already.
   * @param {string} type The kind of generation
   * @param {boolean} willSend Whether the user's message comes first
   */
  begins(type, willSend) {
    this.#dropQuestion();
    this.#beginning = type;
    if (!willSend) this.#askEarly();
  }

  /** The user's message of a generation that begins is there. */
  sent() {
    this.#askEarly();
  }

  #askEarly() {
    const type = this.#beginning;
    this.#beginning = null;
    const context = getContext();
    const { mode } = settings();
    const isPlain = EARLY.has(kindOf(type)) && !context.groupId && this.#room !== undefined;
    if (!type || !isPlain || this.#misses > MISSES || !WEAVING.has(mode)) return;
    // SillyTavern deletes the old reply before it asks for another one.
    if (type !== 'swipe' && !context.chat.at(-1)?.is_user) return;
    const told = facts(context, type, this.#room);
    const story = storyOf(context.chat, type);
    if (told.chat && story.length) this.#question = this.#ask(told, story, mode);
  }

  #dropQuestion() {
    this.#question?.drop();
    this.#question = null;
    this.#beginning = null;
  }

  /** Asks for the texts of a turn, or takes the question that was asked for the same. */
  #ask(told, story, mode) {
    const dry = mode === 'watch' || ASIDE.has(told.generation);
    const said = saidOf(told, { mode, dry });
    const early = this.#question;
    this.#question = null;
    const isSame = early?.isFor(said, story);
    // A useless question may leave a turn without a reply.
    if (early) this.#misses = isSame ? 0 : this.#misses + 1;
    if (isSame) return early;
    early?.drop();
    return new Question(said, story, this.#known);
  }

  /** Asks for the texts of this turn and, in mode "slots", sets them. */
  async #weave(context, current, deadline) {
    const { told, mode, type } = current;
    const story = storyOf(context.chat, type);
    if (!story.length) return;
    const answer = await this.#ask(told, story, mode).within(deadline);
    const placed = mode === 'slots';
    const isStored = placed && !ASIDE.has(type);
    const woven = record(answer, { chat: told.chat, mode, placed });
    Object.assign(current, { story, isStored, generation: answer.generation, woven });
    if (placed) {
      const titles = Object.fromEntries(woven.threads.map((one) => [one.source, one.title]));
      const injections = answer.slots.flatMap((slot) => slot.injections);
      const inMacros = (slot) => usesMacro(context, slot);
      this.placement.set(context, plan(injections, { titles, inMacros }));
    }
  }

  /** Tells the proxy about the next request, where that request cannot do it itself. */
  async #announce(context, current, signal) {
    const { told } = current;
    if (carries(context)) return;
    const newest = storyOf(context.chat, current.type).findLast((message) => !message.hidden);
    if (!newest) return;
    const body = announcement(told, newest.content);
    const { id } = await call('POST', '/generations', { body, signal });
    current.generation = id;
  }

  /**
   * Adds our field and headers to a chat completion. Only source "custom" carries them.
   * @param {object} data The request
   * @param {boolean} isLent Whether it is a question of Loreloom's own
   */
  chatCompletion(data, isLent = false) {
    const current = this.#current;
    if (data.chat_completion_source !== 'custom') return;
    if (isLent) leaveAlone(data);
    if (isLent || !current) return;
    if (current.mode === 'proxy') {
      const { told } = current;
      data.custom_include_body = withField(data.custom_include_body, 'loreloom', ownField(told));
    } else if (this.placement.decided) {
      leaveAlone(data);
    }
    if (current.mode === 'proxy' && inHeader(current.chat)) {
      const { custom_include_headers: own } = data;
      data.custom_include_headers = withField(own, 'X-Loreloom-Chat', current.chat);
    }
  }

  /** Adds our field to a text completion whose source carries it. */
  textCompletion(params) {
    const current = this.#current;
    if (current?.mode === 'proxy' && carries(getContext()))
      params.loreloom = ownField(current.told);
  }

  /** World Info was loaded: ours comes in, books that Loreloom decides go out. */
  entriesLoaded(lists) {
    this.placement.enter(lists, settings().served);
  }

  /** One pass of SillyTavern's own scan is over. */
  async scanned(scan) {
    if (!this.#annotation) return;
    const { wrapper: format, deadline } = settings();
    const annotation = this.#annotation;
    try {
      const signal = AbortSignal.timeout(deadline);
      const isOver = await annotation.pass(getContext(), scan, { format, signal });
      if (!isOver) return;
      this.#annotation = null;
      if (this.#current) this.#current.woven = this.#annotated(annotation);
    } catch (error) {
      this.#annotation = null;
      this.#say({ code: error.code ?? 'failed', detail: error.message });
    }
  }

  #annotated(annotation) {
    const threads = annotation.fields.map((fields) => ({
      kind: 'lorebook',
      source: `${fields.world}/${fields.uid}`,
      book: fields.world,
      title: fields.name || fields.key || fields.uid,
      state: fields.sticky === 'true' ? 'carried' : 'fired',
      tokens: null,
      place: fields.depth ? { at_depth: Number(fields.depth) } : fields.position,
      verdict: { outcome: outcomeOf(fields) },
    }));
    return record({ threads }, { chat: this.#current.chat, mode: 'annotate', placed: true });
  }

  /** A reply is there. */
  received(index, type) {
    const current = this.#current;
    const message = getContext().chat[index];
    if (!current || !message || message.is_user || type === 'first_message') return;
    if (ASIDE.has(current.type)) return;
    this.#current = null;
    if (current.woven) {
      keep(message, current.woven);
      this.#changed();
    }
    this.#settling = this.#settle(current, message).catch((error) =>
      this.#say({ code: error.code ?? 'failed', detail: error.message }),
    );
  }

  /** Waits until the last reply is reported. */
  settled() {
    return this.#settling;
  }

  /** Reports a reply and learns what was woven and why. */
  async #settle(current, message) {
    if (current.mode === 'proxy') await this.#learn(current, message);
    else await this.#report(current, message);
    if (!current.woven?.turn) return;
    const path = `/chats/${part(current.chat)}/turns/${current.woven.turn}/verdicts`;
    const { items } = await call('GET', `${path}?v=woven,lingering,cut&limit=200`);
    explain(current.woven, items);
    keep(message, current.woven);
    await this.#checkWay(current);
    this.#changed();
    await getContext().saveChat();
  }

  /** Reports a reply to the turn that Loreloom wove, if there is one. */
  async #report(current, message) {
    const turn = current.isStored ? await this.#storedTurn(current) : null;
    if (!turn) {
      this.#reporter.soon();
      return;
    }
    current.woven.turn = turn;
    // A message that grew is reported as the new text of the same message.
    if (current.type === 'continue') await this.#reporter.now();
    else await this.#reporter.reply({ ...current, turn }, message);
  }

  /** The turn of a generation, which Loreloom stores after its answer; `null` if it did not. */
  async #storedTurn(current) {
    const found = await call('GET', `/generations/${current.generation}`).catch((error) => {
      // A Loreloom that was started again knows nothing of it, or counts from the beginning.
      if (error.status === 404) return {};
      this.#known.clear();
      this.#reporter.soon();
      throw error;
    });
    if (found.chat !== current.chat) return null;
    current.arrived = found.arrived;
    return found.turn;
  }

  /** Reads the turn that the proxy stored for a reply. It is stored after the reply is sent. */
  async #learn(current, message) {
    const until = performance.now() + Math.max(STORED, settings().deadline);
    while (performance.now() < until) {
      const path = `/chats/${part(current.chat)}/path?limit=4`;
      const { messages } = await call('GET', path).catch((error) => this.#missing(current, error));
      const found = turnOf(messages, message, settings().seen?.[current.chat] ?? -1);
      if (found) {
        change({ seen: { [current.chat]: found.id } });
        const { chat, mode } = current;
        current.woven = record(found, { chat, turn: found.id, mode, placed: true });
        keep(message, current.woven);
        return;
      }
      await wait(PAUSE);
    }
    this.#say({ code: 'not_proxied' });
  }

  /** A chat is not there under our id. Its story may have begun before it got that name: then it
   * keeps the id that it was stored under, and we take that one. */
  async #missing(current, error) {
    if (error.status !== 404) throw error;
    const { items } = await call('GET', `/chats?called=${part(current.chat)}`);
    if (items.length) {
      renamed(getContext(), current.chat, items[0].id);
      current.chat = items[0].id;
    }
    return { messages: [] };
  }

  /** Notices if requests go another way than the mode says. */
  async #checkWay({ mode, generation, arrived }) {
    if (mode === 'slots' && arrived) this.#say({ code: 'both' });
    if (mode !== 'proxy' || !generation) return;
    const found = await call('GET', `/generations/${generation}`).catch(() => ({}));
    if (found.arrived === false) this.#say({ code: 'not_proxied' });
  }

  /** The generation is over, maybe without a reply. */
  ended() {
    this.#annotation = null;
    this.#dropQuestion();
    const context = getContext();
    const current = this.#current;
    if (current && ASIDE.has(current.type)) {
      this.#current = null;
      return;
    }
    const last = context.chat.length - 1;
    const message = context.chat[last];
    // A stopped swipe or continuation sends no message event.
    if (current?.woven && message && !message.is_user) this.received(last, current.type);
    else this.#reporter.soon();
  }

  /** Another chat is open. */
  left() {
    this.#current = null;
    this.#annotation = null;
    this.#dropQuestion();
    this.#misses = 0;
    this.placement.clear(getContext());
    this.#known.clear();
  }

  #say(status) {
    const { code, detail } = this.status;
    this.status = status;
    // The same status needs no drawing while SillyTavern waits.
    if (status.code !== code || status.detail !== detail) this.#changed();
  }
}

/** Why SillyTavern's own scan let an entry in, as Loreloom's verdicts say it. */
function outcomeOf({ activation, key, matched_in, parents }) {
  const [message] = matched_in ?? [];
  const [entry] = parents ?? [];
  const source = entry ? { kind: 'entry', entry } : { kind: 'message', index: Number(message) };
  const primary = { key, at: entry || message ? { source } : null };
  const code = activation === 'sticky' ? 'kept' : activation;
  return { verdict: 'activated', trigger: { reason: { code }, primary } };
}

/** Whether a request goes to the address that Loreloom has for this browser. */
function goesThroughProxy(data) {
  try {
    return new URL(data.custom_url).host === new URL(base()).host;
  } catch {
    return false;
  }
}

/** Tells the proxy, if a request goes through it, that nothing is to be woven. */
function leaveAlone(data) {
  if (!goesThroughProxy(data)) return;
  const { custom_include_headers: own } = data;
  data.custom_include_headers = withField(own, 'X-Loreloom-Weave', 'off');
}

/** Whether the user's prompts, card or persona have the macro of a slot. */
function usesMacro(context, slot) {
  const written = `{{loreloom::${slot}`;
  const { chatCompletionSettings, powerUserSettings } = context;
  // As written: SillyTavern's own reader of the card gives the texts of macros instead.
  const { data, ...card } = context.characters?.[context.characterId] ?? {};
  const texts = [
    ...(chatCompletionSettings?.prompts ?? []).map((prompt) => prompt.content),
    ...Object.values(card),
    ...Object.values(data ?? {}),
    data?.extensions?.depth_prompt?.prompt,
    powerUserSettings?.persona_description,
    powerUserSettings?.context?.story_string,
  ];
  return texts.some((one) => typeof one === 'string' && one.includes(written));
}
