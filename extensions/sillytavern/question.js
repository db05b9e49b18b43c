// The question for the texts of a turn.
//
// SillyTavern stores the chat and asks its own server whether it is there before it waits for us.
// So the question goes out when the generation begins. The interceptor takes the answer only if
// nothing has changed since.
import { call } from './server.js';
import { Known } from './story.js';

/** What the question says besides the messages. */
export const saidOf = (told, { mode, dry }) => ({
  chat: told.chat,
  user: told.user,
  character: told.character.name,
  character_file: told.character.file,
  character_tags: told.character.tags,
  card: told.card,
  group: told.group,
  generation: told.generation,
  context: told.context,
  max_tokens: told.reply,
  dry_run: dry,
  placed: mode === 'slots',
  quick: true,
});

/** A question that was asked. */
export class Question {
  #said;
  #story = new Known();
  #limit = new AbortController();
  #answer;

  /**
   * Asks it.
   * @param {object} said What `saidOf` gives
   * @param {object[]} story The messages
   * @param {Known} known What Loreloom has of the story
   */
  constructor(said, story, known) {
    this.#said = JSON.stringify(said);
    this.#story.set(said.chat, null, story);
    this.#answer = this.#ask(said, story, known);
    // If nothing waits for the answer, its failure is no unhandled rejection.
    this.#answer.catch(() => {});
  }

  async #ask(said, story, known) {
    const ask = () => {
      const body = { ...said, ...known.rest(said.chat, story) };
      return call('POST', '/weave', { body, signal: this.#limit.signal });
    };
    const answer = await ask().catch((error) => {
      // Loreloom may have lost the chat since: tell it all of it.
      if (error.status !== 404) throw error;
      known.clear();
      return ask();
    });
    if (said.dry_run) return answer;
    // Which messages are hidden is only stored by a report.
    if (story.some((message) => message.hidden)) known.clear();
    else known.set(said.chat, answer.node, story);
    return answer;
  }

  /** Whether it says just this about just these messages. */
  isFor(said, story) {
    return JSON.stringify(said) === this.#said && this.#story.has(said.chat, story);
  }

  /** The answer, if it comes within so many milliseconds from now. */
  async within(deadline) {
    const late = () => this.#limit.abort(new Error(`no answer within ${deadline} ms`));
    const timer = setTimeout(late, deadline);
    try {
      return await this.#answer;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Cancels it: its answer is not needed. */
  drop() {
    this.#limit.abort(new Error('something changed'));
  }
}
