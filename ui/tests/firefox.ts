// Debian's Firefox through geckodriver. Playwright drives only a Firefox of its own.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const DRIVER = process.env.LORELOOM_GECKODRIVER ?? 'geckodriver';
const FIREFOX = process.env.LORELOOM_FIREFOX ?? '/usr/bin/firefox-esr';
/** The key under which WebDriver names an element. */
const ELEMENT = 'element-6066-11e4-a52e-4f735466cecf';

/** What the browser noted since it was asked last: errors, refusals of the policy, hosts. */
export interface Noted {
  errors: string[];
  hosts: string[];
}

/** Runs in the browser itself, which hears of what no script of the page can see. */
const LISTEN = `
  const noted = (window.loreloom = { errors: [], hosts: [] });
  Services.console.reset();
  Services.console.registerListener({
    observe(message) {
      if (!(message instanceof Ci.nsIScriptError) || message.flags & Ci.nsIScriptError.warningFlag) return;
      if (message.sourceName.startsWith('http') || /Security|CSP/.test(message.category))
        noted.errors.push(message.category + ': ' + message.errorMessage);
    },
  });
  Services.obs.addObserver((subject) => {
    const { loadInfo, URI } = subject.QueryInterface(Ci.nsIHttpChannel);
    if (loadInfo.loadingPrincipal?.isContentPrincipal || loadInfo.externalContentPolicyType === 6)
      noted.hosts.push(URI.hostPort);
  }, 'http-on-modify-request');
`;
const TAKE = `const { errors, hosts } = window.loreloom;
  return JSON.stringify({ errors: errors.splice(0), hosts: hosts.splice(0) });`;

export class Firefox {
  private constructor(
    private readonly address: string,
    private readonly session: string,
    private readonly end: () => void,
    /** What the page wrote to its console as an error. */
    private readonly written: string[],
  ) {}

  static async start(): Promise<Firefox> {
    const driver = spawn(DRIVER, ['--port', '0', '--allow-system-access', '--binary', FIREFOX], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const written: string[] = [];
    for (const stream of [driver.stdout, driver.stderr])
      createInterface(stream).on('line', (line) => {
        // Firefox's own services complain in the same place, about the network for example.
        const isOwn = /\b(resource|chrome):\/\//.test(line);
        if (line.startsWith('console.error:') && !isOwn) written.push(line);
      });
    const port = await new Promise<string>((resolve, reject) => {
      let said = '';
      driver.stdout.on('data', (data: Buffer) => {
        said += data.toString();
        const found = /Listening on [\d.]+:(\d+)/.exec(said);
        if (found) resolve(found[1]!);
      });
      driver.on('error', reject);
      driver.on('exit', (code) => reject(new Error(`geckodriver ended with ${code}: ${said}`)));
    });
    const address = `http://127.0.0.1:${port}/session`;
    const { sessionId } = await call<{ sessionId: string }>('POST', address, {
      capabilities: {
        alwaysMatch: {
          'moz:firefoxOptions': {
            args: ['-headless', '-width', '1440', '-height', '900'],
            prefs: { 'intl.accept_languages': 'en-US', 'devtools.console.stdout.content': true },
          },
        },
      },
    });
    const end = () => driver.kill('SIGTERM');
    const firefox = new Firefox(address, sessionId, end, written);
    await firefox.inBrowser(LISTEN);
    return firefox;
  }

  async stop(): Promise<void> {
    await this.send('DELETE', '').catch(() => undefined);
    this.end();
  }

  open(url: string): Promise<unknown> {
    return this.send('POST', '/url', { url });
  }

  /** Runs the body of a function in the page. */
  run<T>(script: string, ...args: unknown[]): Promise<T> {
    return this.send<T>('POST', '/execute/sync', { script, args });
  }

  /** Clicks the first visible element of a selector, as a hand would. */
  async click(selector: string): Promise<void> {
    await this.send('POST', `/element/${await this.find(selector)}/click`, {});
  }

  async type(selector: string, text: string): Promise<void> {
    const element = await this.find(selector);
    await this.send('POST', `/element/${element}/clear`, {});
    await this.send('POST', `/element/${element}/value`, { text });
  }

  /** Presses one key wherever the focus is. */
  press(value: string): Promise<unknown> {
    const actions = [
      { type: 'keyDown', value },
      { type: 'keyUp', value },
    ];
    return this.send('POST', '/actions', { actions: [{ type: 'key', id: 'keys', actions }] });
  }

  async noted(): Promise<Noted> {
    const { errors, hosts } = JSON.parse(await this.inBrowser<string>(TAKE)) as Noted;
    return { errors: [...errors, ...this.written.splice(0)], hosts };
  }

  private async find(selector: string): Promise<string> {
    const found = await this.run<Record<string, string> | null>(
      `return [...document.querySelectorAll(arguments[0])].find((one) => one.checkVisibility()) ?? null;`,
      selector,
    );
    if (!found) throw new Error(`Firefox shows no ${selector}`);
    return found[ELEMENT]!;
  }

  private async inBrowser<T>(script: string): Promise<T> {
    await this.send('POST', '/moz/context', { context: 'chrome' });
    try {
      return await this.run<T>(script);
    } finally {
      await this.send('POST', '/moz/context', { context: 'content' });
    }
  }

  private send<T>(method: string, path: string, body?: unknown): Promise<T> {
    return call<T>(method, `${this.address}/${this.session}${path}`, body);
  }
}

async function call<T>(method: string, url: string, body?: unknown): Promise<T> {
  const answer = await fetch(url, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const { value } = (await answer.json()) as { value: T & { error?: string; message?: string } };
  if (!answer.ok) throw new Error(`${method} ${url}: ${value.error}: ${value.message}`);
  return value;
}
