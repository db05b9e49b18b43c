// The real SillyTavern and the real Loreloom.
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
export const WORK = process.env.LORELOOM_E2E ?? at('../../target/e2e');
const BINARY = process.env.LORELOOM_BINARY ?? at('../../target/debug/loreloom');
const EXTENSION = at('../sillytavern');
const PROGRAM = join(WORK, 'node_modules/sillytavern');
/** A data folder after the first start, which takes long. */
const TEMPLATE = join(WORK, 'template');

/** A port that nobody uses. */
export async function freePort() {
  const server = createServer();
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

/** What was started and still runs. */
const started = new Set();

/** Stops everything that this process started. */
export const stopStarted = () => Promise.all([...started].map((stop) => stop()));

/** Starts a program and waits until its output fits. */
async function run(command, args, { cwd, pattern, name }) {
  // Playwright asks programs for colours, and their codes would be inside of what is waited for.
  // SillyTavern names its cache by the revision of the repository around it, and one that starts
  // after a commit would take the cache away from the one that runs.
  const env = { ...process.env, FORCE_COLOR: '0', GIT_CEILING_DIRECTORIES: WORK };
  const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise((done) => child.on('exit', done));
  const stop = async () => {
    started.delete(stop);
    child.kill('SIGTERM');
    const killing = setTimeout(() => child.kill('SIGKILL'), 10_000);
    await ended;
    clearTimeout(killing);
  };
  started.add(stop);
  let said = '';
  const found = await new Promise((resolve, reject) => {
    const hear = (data) => {
      said += data.toString();
      const match = pattern.exec(said);
      if (match) resolve(match);
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    child.on('exit', (code) => reject(new Error(`${name} ended with ${code}: ${said}`)));
  });
  return { found, stop, log: () => said };
}

/** Runs a command of Loreloom's and gives its output. */
export async function loreloom(args, input = '') {
  const child = spawn(BINARY, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(input);
  let said = '';
  child.stdout.on('data', (data) => (said += data.toString()));
  const code = await new Promise((done) => child.on('close', done));
  if (code !== 0) throw new Error(`loreloom ${args.join(' ')} ended with ${code}: ${said}`);
  return said;
}

/** Starts Loreloom on a folder. */
export async function startLoreloom(folder, { port = 0, options = [] } = {}) {
  if (!existsSync(BINARY)) throw new Error(`Loreloom is not built: ${BINARY}`);
  const args = ['serve', '--data', folder, '--port', String(port), ...options];
  const pattern = /^listening on (http:\/\/127\.0\.0\.1:\d+)$/m;
  const { found, stop, log } = await run(BINARY, args, { pattern, name: 'Loreloom' });
  return { url: found[1], stop, log };
}

const startProgram = (data, port) =>
  run(
    process.execPath,
    [
      'server.js',
      ...['--configPath', join(data, '..', 'config.yaml'), '--dataRoot', data],
      ...['--port', String(port), '--listen', 'false', '--browserLaunchEnabled', 'false'],
    ],
    { cwd: PROGRAM, pattern: /Go to: (http:\S+?)\/? to open SillyTavern/, name: 'SillyTavern' },
  );

/** What tests change in the folder of SillyTavern's user. */
const CHANGED = ['settings.json', 'worlds', 'characters', 'chats', 'groups', 'group chats'];

/** Copies those files between the user's folder and the one that tests begin with. */
function copyChanged(from, to) {
  for (const name of CHANGED) {
    rmSync(join(to, name), { recursive: true, force: true });
    cpSync(join(from, name), join(to, name), { recursive: true });
  }
}

const userFolder = (folder) => join(folder, 'data/default-user');
const firstFolder = (folder) => join(folder, 'first');

/** Gives SillyTavern the settings, books, characters and chats that it started with. No page of
 * it may be open: a page saves its settings some time after they changed. */
export const resetSillyTavern = (folder) => copyChanged(firstFolder(folder), userFolder(folder));

/** Unpacks the zip that Loreloom serves, as its page says. */
async function unpack(zip, folder) {
  const file = join(folder, '..', 'extension.zip');
  writeFileSync(file, Buffer.from(await (await fetch(zip)).arrayBuffer()));
  execFileSync('unzip', ['-q', file, '-d', folder]);
}

/**
 * Starts SillyTavern with the extension, connected to a model. With `zip` the extension comes from
 * that address, and SillyTavern knows nothing of Loreloom yet.
 */
export async function startSillyTavern(folder, { modelUrl, loreloom, zip }) {
  if (!existsSync(PROGRAM)) throw new Error(`SillyTavern is not installed: ${PROGRAM}`);
  if (!existsSync(join(TEMPLATE, 'data'))) {
    mkdirSync(join(TEMPLATE, 'making'), { recursive: true });
    const { stop } = await startProgram(join(TEMPLATE, 'making/data'), await freePort());
    await stop();
    cpSync(join(TEMPLATE, 'making/data'), join(TEMPLATE, 'data'), { recursive: true });
    rmSync(join(TEMPLATE, 'making'), { recursive: true });
  }
  const data = join(folder, 'data');
  cpSync(join(TEMPLATE, 'data'), data, { recursive: true });
  const user = userFolder(folder);
  if (zip) await unpack(zip, join(user, 'extensions'));
  else cpSync(EXTENSION, join(user, 'extensions/loreloom'), { recursive: true });
  const file = join(user, 'settings.json');
  const settings = JSON.parse(readFileSync(file, 'utf8'));
  Object.assign(settings, { firstRun: false, main_api: 'openai' });
  Object.assign((settings.oai_settings ??= {}), {
    chat_completion_source: 'custom',
    custom_url: modelUrl,
    custom_model: 'm',
    stream_openai: true,
    openai_max_context: 8192,
    openai_max_tokens: 200,
  });
  Object.assign((settings.power_user ??= {}), { auto_connect: true });
  if (loreloom) (settings.extension_settings ??= {}).loreloom = { ...loreloom };
  writeFileSync(file, JSON.stringify(settings));
  mkdirSync(firstFolder(folder));
  copyChanged(user, firstFolder(folder));
  const port = await freePort();
  const { stop, log } = await startProgram(data, port);
  return { url: `http://127.0.0.1:${port}`, port, stop, log };
}
