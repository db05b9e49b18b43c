// Playing a story on this page: what is being said, what went wrong, and changes of messages.
import { ApiError, get, part, write } from '../../api/client';
import type { Path, PathMessage, StorySetup } from '../../api/types';
import { t } from '../../lib/i18n.svelte';
import { Loaded } from '../../lib/loaded.svelte';
import { notices } from '../../lib/notices.svelte';
import { keepStopped, play, type Turn } from '../../lib/playing';
import { tell, type Said } from '../../lib/telling';

interface Story {
  chat: () => string;
  path: () => Path | null;
  load: () => Promise<void>;
  /** Called whenever something new is shown. */
  grown: () => void;
}

/** How often the page looks for a reply that has just ended, and how long it waits between. */
const LOOKS = 40;
const PAUSE = 50;

const asError = (error: unknown): ApiError =>
  error instanceof ApiError ? error : new ApiError(0, 'failed', String(error));

export class Playing {
  readonly setup = new Loaded<StorySetup>();
  /** What the user said, before it is part of the path. */
  own = $state.raw<{ text: string; name: string | null } | null>(null);
  /** The reply so far. */
  writing = $state<string | null>(null);
  isBusy = $state(false);
  writer = $state<string | null>(null);
  failed = $state.raw<{ error: ApiError; again: () => void; dismiss: () => void } | null>(null);
  private asking: AbortController | null = null;
  private readonly story: Story;

  constructor(story: Story) {
    this.story = story;
  }

  loadSetup(): Promise<StorySetup | null> {
    const chat = this.story.chat();
    return this.setup.load((signal) => get(`/chats/${part(chat)}/setup`, {}, signal));
  }

  /** Stops the model; what it has said stays. */
  halt(): void {
    this.asking?.abort();
  }

  dismiss = (): void => {
    this.failed = null;
  };

  /** Goes on with a story of a front end, as that front end would. */
  async tell(messages: Said[]): Promise<void> {
    const own = messages.findLast((message) => message.role === 'user');
    this.begin(own ? { text: own.content, name: own.name ?? null } : null, null);
    const [asking, tip] = [this.asking!, this.story.path()?.tip];
    try {
      const model = this.setup.data?.routed.model ?? null;
      const request = { chat: this.story.chat(), messages, model };
      await tell(request, (text) => this.heard(text), asking.signal);
      await this.stored(tip);
    } catch (error) {
      if (!asking.signal.aborted) this.fail(asError(error), () => void this.tell(messages));
    } finally {
      await this.end();
    }
  }

  /** Plays a turn. */
  async play(turn: Turn): Promise<string> {
    const setup = this.setup.data;
    const speaker = setup?.players.find((one) => one.id === (turn.speaker ?? setup.next));
    const own = turn.text ? { text: turn.text, name: setup?.user ?? null } : null;
    this.begin(own, turn.generation === 'impersonate' ? (setup?.user ?? null) : speaker?.name);
    const [chat, tip] = [this.story.chat(), this.story.path()?.tip];
    const asking = this.asking!;
    let said = '';
    const hear = (text: string) => {
      said = text;
      this.heard(text);
    };
    try {
      await play(chat, turn, hear, asking.signal);
      if (turn.generation !== 'impersonate') await this.stored(tip);
    } catch (error) {
      if (asking.signal.aborted) await this.keep(chat, turn, said);
      else await this.refused(asError(error), turn);
    } finally {
      await this.end();
    }
    return said;
  }

  private begin(own: Playing['own'], writer: string | null | undefined): void {
    this.asking = new AbortController();
    this.isBusy = true;
    this.failed = null;
    this.own = own;
    this.writing = '';
    this.writer = writer ?? null;
    this.story.grown();
  }

  private heard(text: string): void {
    this.writing = text;
    this.story.grown();
  }

  private async end(): Promise<void> {
    this.isBusy = false;
    await this.story.load();
    this.own = null;
    this.writing = null;
    void this.loadSetup();
    this.story.grown();
  }

  /** Waits until the reply is part of the path: it is stored right after its last byte. */
  private async stored(before: string | undefined): Promise<void> {
    for (let look = 0; look < LOOKS; look += 1) {
      await this.story.load();
      const path = this.story.path();
      const last = path?.messages.at(-1);
      if (path?.tip !== before && last?.role === 'assistant') return;
      await new Promise((done) => setTimeout(done, PAUSE));
    }
  }

  private async keep(chat: string, turn: Turn, said: string): Promise<void> {
    try {
      await keepStopped(chat, turn, said);
    } catch (error) {
      notices.fail(error);
    }
  }

  /** A reply that did not come. What the user said is stored, unless the server refused it too. */
  private async refused(error: ApiError, turn: Turn): Promise<void> {
    await this.story.load();
    const last = this.story.path()?.messages.at(-1);
    const isKept = turn.text !== undefined && last?.role === 'user' && last.text === turn.text;
    const again: Turn = { ...turn };
    if (isKept) {
      delete again.text;
      delete again.after;
    }
    this.fail(error, () => void this.play(again));
  }

  private fail(error: ApiError, again: () => void): void {
    this.failed = { error, again, dismiss: this.dismiss };
  }

  /** Changes the story by hand: one write, which can be undone. */
  async change(
    call: (path: string) => Promise<{ undo?: string | null }>,
    said: string,
  ): Promise<void> {
    try {
      const wrote = await call(`/chats/${part(this.story.chat())}`);
      notices.say(said, wrote.undo);
      await this.story.load();
    } catch (error) {
      notices.fail(error);
    }
  }

  edit(message: PathMessage, content: string): Promise<void> {
    return this.change(
      (path) => write('PATCH', `${path}/messages/${message.node}`, { content }),
      t('story.edited'),
    );
  }

  remove(message: PathMessage): Promise<void> {
    return this.change(
      (path) => write('DELETE', `${path}/messages/${message.node}`),
      t('story.removed'),
    );
  }

  hide(message: PathMessage): Promise<void> {
    const hidden = !message.hidden;
    return this.change(
      (path) => write('PUT', `${path}/messages/${message.node}/hidden`, { hidden }),
      hidden ? t('story.isHidden') : t('story.isShown'),
    );
  }

  moveTo(node: string): Promise<void> {
    return this.change((path) => write('PUT', `${path}/tip`, { node }), t('story.moved'));
  }

  /** Adds a narrator's line at the end, or after a message. */
  narrate(content: string, after?: string): Promise<void> {
    const messages = [{ role: 'assistant', content, narrator: true }];
    const body = after ? { insert: true, after, messages } : { messages };
    return this.change((path) => write('POST', `${path}/messages`, body), t('story.added'));
  }
}
