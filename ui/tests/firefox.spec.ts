// Every screen in Debian's Firefox: it opens without an error, has its heading, and does one thing.
import { expect, test } from '@playwright/test';
import { Firefox } from './firefox';
import { serve } from './server';

interface Step {
  path: string;
  /** What is clicked, or typed into. */
  click?: string;
  type?: [selector: string, text: string];
  press?: string;
  /** What is on the page then. */
  then: string;
}

const STEPS: Step[] = [
  { path: '/c/demo', type: ['.composer textarea', 'The causeway?'], then: '.composer .chip' },
  { path: '/c/demo/tree', click: '.tree button', then: '.msg' },
  { path: '/c/demo/t/1/prompt', click: '.sp[data-src=book] .tx', then: '.side h2' },
  { path: '/c/demo/t/1/why', click: '.wtable tbody a.ent', then: '.side h2, .side h3' },
  { path: '/c/demo/t/2/diff', click: 'main select', then: 'main .card' },
  { path: '/c/demo/t/1/raw', click: '.seg button', then: '.sp' },
  { path: '/c/demo/memory', click: '.pane li button', then: '.side' },
  { path: '/c/demo/memory/state', click: '.seg button', then: '.pane li' },
  { path: '/c/demo/memory/knowledge', type: ['main input.half', 'The bell'], then: 'main form' },
  { path: '/new', type: ['main textarea', 'The rain has stopped.'], then: 'main .btn.primary' },
  { path: '/characters', type: ['main input[type=search]', 'nobody'], then: 'main p' },
  { path: '/lore', click: '.vr', then: '.ed h2' },
  { path: '/lore/findings', click: 'main a', then: 'h1' },
  { path: '/lore/coverage', click: '.wtable tbody a', then: '.ed h2' },
  { path: '/lore/attachments', click: 'main a', then: '.vr' },
  { path: '/lore/overlaps', click: 'main a', then: '.vr' },
  { path: '/graph?chat=demo', click: '.node circle', then: '.side' },
  { path: '/graph?chat=demo&view=list', click: '.seg button', then: '.node circle' },
  { path: '/replay', press: 't', then: 'html[data-theme=dark]' },
  { path: '/stories', type: ['main input[type=search]', 'causeway'], then: '.hits li' },
  { path: '/dash?chat=demo', click: '.bars a', then: '.sp' },
  { path: '/history', press: '?', then: 'dialog[open]' },
  { path: '/jobs', press: '?', then: 'dialog[open]' },
  { path: '/settings', click: '.setting .seg button', then: '.setting' },
  { path: '/settings/weaving', press: '?', then: 'dialog[open]' },
  {
    path: '/settings/prompt',
    click: '[data-block] input[type=checkbox]',
    then: 'main .btn.primary:enabled',
  },
  { path: '/settings/slots', click: 'main select', then: '.slotstack li' },
  { path: '/settings/models', click: 'main .btn', then: '.connform, .conntest' },
  { path: '/settings/server', press: '?', then: 'dialog[open]' },
  { path: '/settings/all', type: ['main input[type=search]', 'depth'], then: '.setting' },
  { path: '/welcome', click: '.now .btn.primary', then: '.msg' },
  { path: '/nothing/here', click: 'main a', then: '.wtable tbody tr' },
];

let server: Awaited<ReturnType<typeof serve>>;
let firefox: Firefox;
test.beforeAll(async () => {
  server = await serve('demo', '--port', '0');
  // The demo plays its story after it has printed its address.
  const turns = async () => {
    const answer = await fetch(`${server.address}/api/v1/chats/demo/turns`);
    const { items } = (await answer.json()) as { items?: unknown[] };
    return items?.length ?? 0;
  };
  await expect.poll(turns).toBe(8);
  firefox = await Firefox.start();
});
test.afterAll(async () => {
  await firefox.stop();
  server.stop();
});

/** Waits until something of a selector can be seen, and says something if it is a heading. */
const shown = (selector: string, timeout?: number) =>
  expect
    .poll(
      () =>
        firefox.run<boolean>(
          `return [...document.querySelectorAll(arguments[0])].some(
            (one) => one.checkVisibility() && (one.tagName !== 'H1' || one.textContent.trim()));`,
          selector,
        ),
      { message: `Firefox shows ${selector}`, timeout },
    )
    .toBe(true);

for (const { path, click, type, press, then } of STEPS)
  test(`${path} works in Firefox`, async () => {
    // Leaving a screen ends its requests, and Firefox logs that as an error.
    await firefox.open('about:blank');
    await firefox.noted();
    await firefox.open(`${server.address}${path}`);
    await shown('h1');
    const target = click ?? type?.[0];
    if (target) await shown(target);
    if (click) await firefox.click(click);
    // What is typed while a screen still loads its list can be gone with the list's first rows.
    if (type)
      await expect(async () => {
        await firefox.type(...type);
        await shown(then, 5_000);
      }).toPass({ timeout: 30_000 });
    if (press) await firefox.press(press);
    await shown(then);
    const { errors, hosts } = await firefox.noted();
    expect(errors).toEqual([]);
    expect([...new Set(hosts)]).toEqual([new URL(server.address).host]);
  });
