// Lends the connected model to Loreloom's memory, so that no second key is needed.
//
// Loreloom offers one question at a time. A generation of the user's always goes first: a running
// answer is given up and the question is asked again later.
import { call } from './server.js';
import { settings } from './settings.js';

const getContext = () => SillyTavern.getContext();
/** How long nothing must have happened before the model counts as idle, in milliseconds. */
const IDLE = 1500;
/** The wait after a failed call. */
const RETRY = 10_000;

/** Whether SillyTavern is writing something. */
const isGenerating = () => document.body.dataset.generating === 'true';

const wait = (time) => new Promise((done) => setTimeout(done, time));

export class Lender {
  #busySince = 0;
  #asking = false;
  #running = false;
  #interrupted = false;

  /** A generation is over; ours are, too. */
  paused() {
    this.#busySince = performance.now();
  }

  /** A generation of the user's begins. */
  busy() {
    this.paused();
    if (!this.#asking) return;
    this.#interrupted = true;
    getContext().stopGeneration?.();
  }

  /** Whether a question of Loreloom's is being answered. */
  get isAsking() {
    return this.#asking;
  }

  /** The proxy has a model of its own. */
  get #isLent() {
    const { lend, mode } = settings();
    return lend && mode !== 'off' && mode !== 'proxy';
  }

  get #isIdle() {
    const isQuiet = performance.now() - this.#busySince > IDLE;
    return isQuiet && !isGenerating() && getContext().onlineStatus !== 'no_connection';
  }

  /** Works for Loreloom as long as the user lends the model. */
  async work() {
    if (this.#running || !this.#isLent) return;
    this.#running = true;
    try {
      while (this.#isLent) {
        if (!this.#isIdle) {
          await wait(IDLE);
          continue;
        }
        try {
          // The server holds the call until there is a question or 25 seconds are over.
          const question = await call('POST', '/lent-model/next', {
            signal: AbortSignal.timeout(40_000),
          });
          if (question?.id) await this.#answer(question);
        } catch {
          await wait(RETRY);
        }
      }
      await call('DELETE', '/lent-model').catch(() => {});
    } finally {
      this.#running = false;
    }
  }

  async #answer({ id, messages, max_tokens: responseLength }) {
    // The question may have come after a long wait.
    this.#interrupted = isGenerating();
    this.#asking = true;
    const path = `/lent-model/${id}`;
    try {
      if (this.#interrupted) throw new Error('interrupted');
      const text = await getContext().generateRaw({
        prompt: messages,
        responseLength,
        trimNames: false,
      });
      if (this.#interrupted) throw new Error('interrupted');
      await call('POST', path, { body: { text } });
    } catch (error) {
      const failure = this.#interrupted ? 'the user went first' : String(error?.message ?? error);
      await call('POST', path, { body: { failure, taken_back: this.#interrupted } });
    } finally {
      this.#asking = false;
    }
  }
}
