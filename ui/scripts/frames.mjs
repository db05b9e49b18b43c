// How long script and layout take in a frame while a list of 10,000 entries scrolls, from a trace
// of Chromium. Prints one line; `--json` prints an object.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chromium } from '@playwright/test';

const ENTRIES = 10_000;
const STEPS = 300;
const PIXELS = 1000;
/** Work of the main thread that is script or layout. Painting is not. */
const WORK = new Set([
  'EventDispatch',
  'FunctionCall',
  'FireAnimationFrame',
  'TimerFire',
  'RunMicrotasks',
  'UpdateLayoutTree',
  'Layout',
]);

const server = spawn(process.env.LORELOOM_BINARY, ['demo', '--no-memory', '--port', '0'], {
  stdio: ['ignore', 'pipe', 'ignore'],
});
const address = await new Promise((resolve) => {
  let said = '';
  server.stdout.on('data', (data) => {
    said += data;
    const found = /(http:\/\/[\d.]+:\d+)/.exec(said);
    if (found) resolve(found[1]);
  });
});
const world = {
  name: 'many',
  entries: Object.fromEntries(
    Array.from({ length: ENTRIES }, (_, uid) => [
      uid,
      {
        uid,
        key: [`key${uid}`, `other${uid}`],
        keysecondary: [],
        comment: `Entry ${uid} of a long list`,
        content: `What is known of ${uid}. `.repeat(1 + (uid % 9)),
        order: uid % 200,
        position: 0,
      },
    ]),
  ),
};
const browser = await chromium.launch({
  executablePath:
    process.env.LORELOOM_CHROMIUM ??
    ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync),
  args: ['--no-sandbox'],
});
try {
  const imported = await fetch(`${address}/api/v1/books/import?id=many&file_name=many.json`, {
    method: 'POST',
    headers: { 'content-type': 'application/octet-stream' },
    body: JSON.stringify(world),
  });
  if (!imported.ok) throw new Error(await imported.text());
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  await page.goto(`${address}/lore?f=book:many`);
  await page.locator('.vr').first().waitFor();
  await page.locator('.vs').hover();
  await browser.startTracing(page, {
    categories: ['devtools.timeline'],
  });
  for (let step = 0; step < STEPS; step += 1) {
    await page.mouse.wheel(0, step < STEPS / 2 ? PIXELS : -PIXELS);
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(done)));
  }
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
  const frames = timesOf(traceEvents);
  const at = (share) => frames[Math.min(frames.length - 1, Math.floor(share * frames.length))];
  const figures = { frames: frames.length, p50: at(0.5), p95: at(0.95), worst: at(1) };
  const ms = (value) => `${value.toFixed(1)} ms`;
  console.log(
    process.argv.includes('--json')
      ? JSON.stringify({ bench: 'page', entries: ENTRIES, ...figures })
      : `page: script and layout of a frame while ${ENTRIES} entries scroll: p50 ${ms(figures.p50)}, p95 ${ms(figures.p95)}, worst ${ms(figures.worst)} (${figures.frames} frames)`,
  );
} finally {
  await browser.close();
  server.kill('SIGTERM');
}

/**
 * The work of each frame that laid rows out, in milliseconds of processor time and in order of
 * size. Other programs on the machine do not count, and nested work counts once.
 */
function timesOf(events) {
  // The page's thread is the one that does most of it.
  const busy = new Map();
  for (const one of events.filter(({ ph, name }) => ph === 'X' && WORK.has(name))) {
    if (!busy.has(thread(one))) busy.set(thread(one), []);
    busy.get(thread(one)).push(one);
  }
  const own = [...busy.values()].sort((one, other) => other.length - one.length)[0];
  own.sort((one, other) => one.ts - other.ts || other.dur - one.dur);
  const begins = events
    .filter(
      (one) => one.name === 'AnimationFrame' && one.ph === 'b' && thread(one) === thread(own[0]),
    )
    .map((one) => one.ts)
    .sort((one, other) => one - other);
  const frames = begins.map(() => ({ work: 0, isDrawn: false }));
  let [frame, until] = [0, 0];
  for (const { name, ts, dur = 0, tdur = dur } of own) {
    if (ts < begins[0]) continue;
    while (frame + 1 < begins.length && begins[frame + 1] <= ts) frame += 1;
    frames[frame].isDrawn ||= name === 'Layout';
    if (ts < until) continue;
    frames[frame].work += tdur / 1000;
    until = ts + dur;
  }
  return frames
    .filter((one) => one.isDrawn)
    .map((one) => one.work)
    .sort((one, other) => one - other);
}

function thread({ pid, tid }) {
  return `${pid}/${tid}`;
}
