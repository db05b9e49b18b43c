import { axe, book, cutOff, demo, expect, json, shot, test } from './kit';

test('the front page is the story that changed last', async ({ page }) => {
  const chats = await json<{ items: { id: string }[] }>('/chats');
  await page.goto('/');
  await expect(page).toHaveURL(new RegExp(`/c/${encodeURIComponent(chats.items[0]!.id)}$`));
  await expect(page.locator('.msg').last()).toBeInViewport();
});

test('every reply shows as many threads as the server says', async ({ page }) => {
  const { chat } = await demo();
  const path = await json<{
    messages: {
      number: number;
      reply_to?: number;
      turn?: { id: number; threads: { state: string }[] };
    }[];
  }>(`/chats/${encodeURIComponent(chat)}/path`);
  await page.goto(`/c/${encodeURIComponent(chat)}`);
  const turns = new Map(
    path.messages.flatMap((message) =>
      message.turn ? [[message.turn.id, message.turn.threads]] : [],
    ),
  );
  for (const message of path.messages) {
    if (message.reply_to == null) continue;
    const fired = turns.get(message.reply_to)!.filter((thread) => thread.state === 'fired').length;
    await expect(
      page.locator(`.msg[data-number="${message.number}"] :is(.chips .code)`),
    ).toHaveCount(Math.min(fired, 8));
  }
});

test('a thread lights up in all messages when its name has the focus', async ({ page }) => {
  const { chat } = await demo();
  await page.goto(`/c/${encodeURIComponent(chat)}`);
  const name = page.locator('.colname').first();
  await name.focus();
  await expect(page.locator('.messages')).toHaveClass(/dim/);
  const messages = await page.locator('.msg').count();
  await expect(page.locator('.msg .th.on')).toHaveCount(messages);
});

test('the passages are the prompt to the byte, and their tokens its sum', async ({ page }) => {
  const { chat, turns } = await demo();
  for (const turn of turns) {
    const prompt = await json<{ tokens: number; messages: { content: string }[] }>(
      `/chats/${encodeURIComponent(chat)}/turns/${turn}/prompt`,
    );
    await page.goto(`/c/${encodeURIComponent(chat)}/t/${turn}/prompt`);
    await expect(page.locator('.sp').first()).toBeVisible();
    const fold = page.locator('.elide');
    if (await fold.count()) await fold.click();
    const texts = await page.locator('.sp .tx').allTextContents();
    expect(texts.join('')).toBe(prompt.messages.map((message) => message.content).join(''));
    const counts = await page.locator('.sp .g .n').allTextContents();
    const sum = counts.reduce((total, count) => total + Number(count.replaceAll(',', '')), 0);
    expect(sum).toBe(prompt.tokens);
  }
});

test('a passage of lore opens its proof with the words that were found', async ({ page }) => {
  const { chat, turns } = await demo();
  await page.goto(`/c/${encodeURIComponent(chat)}/t/${turns[0]}/prompt`);
  await page.locator('.sp[data-src=book]', { hasText: 'causeway' }).first().click();
  await expect(page).toHaveURL(/span=s\d+/);
  await expect(page.locator('.side .quote mark').first()).toHaveText(/causeway/i);
  await shot(page, 'proof-light');
  await page.keyboard.press('Escape');
  await expect(page).not.toHaveURL(/span=/);
});

test('verdicts are filtered by class and text, and a left-out entry has a verified change', async ({
  page,
}) => {
  const { chat, turns } = await demo();
  const last = turns.at(-1)!;
  const counts = await json<{ counts: Record<string, number> }>(
    `/chats/${encodeURIComponent(chat)}/turns/${last}/verdicts?counts_only=true`,
  );
  await page.goto(`/c/${encodeURIComponent(chat)}/t/${last}/why`);
  // Nothing lingers in the demo's placement, and what does not is not offered.
  const { lingering, ...offered } = counts.counts;
  expect(lingering).toBe(0);
  for (const [name, count] of Object.entries(offered)) {
    await expect(page.locator(`[data-verdict=${name}] .n`)).toHaveText(String(count));
  }
  const left = ['near', 'rule', 'no_match'].find((name) => counts.counts[name]! > 0)!;
  await page.locator(`[data-verdict=${left}]`).click();
  await expect(page.locator('.wtable tbody tr')).toHaveCount(counts.counts[left]!);
  await page.locator('.wtable tbody tr a.ent').first().click();
  await expect(page.locator('[data-way]').first()).toBeVisible();
  await expect(page.locator('.side')).toContainText('The turn was run again with each');
  await axe(page);
  await shot(page, 'why-proof-light');
});

test('German is complete enough to click through', async ({ page }) => {
  await page.addInitScript(() => window.localStorage.setItem('loreloom.language', 'de'));
  await page.goto('/settings');
  await expect(page.locator('h1')).toHaveText('Einstellungen');
  await page.getByRole('link', { name: 'Lore', exact: true }).first().click();
  await expect(page.locator('.vr').first()).toBeVisible();
  await page.goto('/c/demo');
  await expect(page.locator('.msg').first()).toBeVisible();
  await shot(page, 'story-german');
});

test('the keyboard alone reaches prompt, verdicts, lore and help', async ({ page }) => {
  await page.goto('/c/demo');
  await expect(page.locator('.msg').first()).toBeVisible();
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/\/prompt$/);
  // Screens are loaded when they are shown, and bring their keys.
  await expect(page.getByRole('heading', { name: /^Prompt of turn/ })).toBeVisible();
  await page.keyboard.press('[');
  await page.keyboard.press('w');
  await expect(page).toHaveURL(/\/why$/);
  await page.keyboard.press('g');
  await page.keyboard.press('l');
  await expect(page).toHaveURL(/\/lore$/);
  await page.keyboard.press('?');
  await expect(page.getByRole('dialog')).toBeVisible();
  await axe(page);
  await page.keyboard.press('Escape');
  // The page listens to keys again once the dialog has closed.
  await expect(page.getByRole('dialog')).toBeHidden();
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox').fill('saltmere');
  await expect(page.getByRole('option', { name: /Entry/ }).first()).toBeVisible();
  await axe(page);
  await shot(page, 'palette-light');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('dialog')).toBeHidden();
});

test('the palette leads to every screen', async ({ page }) => {
  test.setTimeout(400_000);
  const places: [string, RegExp][] = [
    ['Go to Story', /\/c\/[^/]+$/],
    ['Go to Inspector', /\/t\/\d+\//],
    ['Go to Lore', /\/lore$/],
    ['Go to Graph', /\/graph/],
    ['Go to Replay', /\/replay$/],
    ['Go to All stories', /\/stories$/],
    ['Go to Dashboard', /\/dash/],
    ['Go to History', /\/history$/],
    ['Go to Settings', /\/settings$/],
    ['Go to Branches', /\/tree$/],
    ['Go to Why and why not', /\/why$/],
    ['Go to Changes', /\/diff$/],
    ['Go to Raw', /\/raw$/],
    ['Go to Coverage', /\/lore\/coverage$/],
    ['Go to Lore findings', /\/lore\/findings$/],
    ['Go to Settings: Weaving', /\/settings\/weaving$/],
    ['Go to Settings: Slots and budgets', /\/settings\/slots$/],
    ['Go to Settings: Models', /\/settings\/models$/],
    ['Go to Settings: Server', /\/settings\/server$/],
    ['Go to First steps', /\/welcome$/],
  ];
  await page.goto('/c/demo');
  await expect(page.locator('.msg').first()).toBeVisible();
  for (const [title, address] of places) {
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Command palette' }).fill(title);
    // The very title: others may begin with it.
    await page
      .getByRole('option')
      .filter({ has: page.getByText(title, { exact: true }) })
      .first()
      .click();
    await expect(page).toHaveURL(address);
    await expect(page.locator('h1').first()).toBeAttached();
    await expect(page.locator('.error, [role=alert]')).toHaveCount(0);
  }
});

test('every screen is walked through by Tab alone, and the focus is always seen', async ({
  page,
}) => {
  test.setTimeout(600_000);
  const { chat, turns } = await demo();
  const c = encodeURIComponent(chat);
  for (const [path, mark] of [
    [`/c/${c}`, '.msg'],
    [`/c/${c}/tree`, '.tree li'],
    [`/c/${c}/t/${turns.at(-1)}/prompt`, '.sp'],
    [`/c/${c}/t/${turns.at(-1)}/why`, '.wtable tbody tr'],
    [`/c/${c}/t/${turns.at(-1)}/diff`, '.card'],
    ['/lore', '.vr'],
    ['/lore/coverage', '.wtable tbody tr'],
    ['/graph?chat=demo', '.node'],
    ['/replay', 'h1'],
    ['/dash?chat=demo', '.bars a'],
    ['/stories', '.wtable tbody tr'],
    ['/history', 'h1'],
    ['/settings', '.setting'],
    ['/settings/slots', '.slotstack li'],
    ['/settings/models', '.setting'],
    ['/welcome', '.wizard li'],
  ] as const) {
    await page.goto(path);
    await expect(page.locator(mark).first()).toBeVisible();
    const stops = new Set<string>();
    for (let step = 0; step < 40; step += 1) {
      await page.keyboard.press('Tab');
      const at = await page.evaluate(() => {
        const element = document.activeElement as HTMLElement | null;
        if (!element || element === document.body) return null;
        const box = element.getBoundingClientRect();
        const style = getComputedStyle(element);
        // Nodes of the picture have a ring of their own.
        const ring = element.matches('.node')
          ? getComputedStyle(element.querySelector('circle')!).strokeWidth
          : '';
        const isSeen =
          style.outlineStyle !== 'none' ||
          style.boxShadow !== 'none' ||
          ring === '3px' ||
          element.matches('main');
        const name =
          element.getAttribute('aria-label') ??
          element.getAttribute('title') ??
          (element as HTMLInputElement).labels?.[0]?.textContent ??
          element.textContent ??
          '';
        return {
          where: `${element.tagName} ${element.getAttribute('class') ?? ''} ${name.trim().slice(0, 40)}`,
          isSeen,
          isNamed: name.trim() !== '' || element.matches('main, [tabindex="0"], select, textarea'),
          isThere: box.width > 0 && box.height > 0,
        };
      });
      if (!at) break;
      expect(at, `${path}: ${at.where}`).toMatchObject({
        isSeen: true,
        isNamed: true,
        isThere: true,
      });
      stops.add(at.where);
    }
    // The rail, the command box, the theme, and something of the screen itself.
    expect(stops.size, path).toBeGreaterThan(12);
  }
});

test('a connection is tried out step by step', async ({ page }) => {
  await page.goto('/settings/models');
  await page.getByRole('button', { name: /^Test/ }).first().click();
  await expect(page.locator('.conntest .steps li')).toHaveCount(9);
  await axe(page);
  await shot(page, 'connections-light');
});

test('the figures of the dashboard are those of the server, and lead to their turns', async ({
  page,
}) => {
  const figures = await json<{
    items: {
      turn: number;
      prompt_tokens: number;
      unchanged_tokens: number | null;
      cut: number;
      by_source: { lore: number };
      took: { weaving_ms: number } | null;
    }[];
  }>('/metrics/turns?chat=demo');
  await page.goto('/dash?chat=demo');
  const tokens = page.locator('.bars:not(.times) a');
  await expect(tokens).toHaveCount(figures.items.length);
  // The bars are as high as the figures: the demo remembers nothing.
  const heights = (kind: string) =>
    page
      .locator(`.bars:not(.times) .${kind}`)
      .evaluateAll((bars) => bars.map((bar) => bar.getBoundingClientRect().height));
  expect(new Set(await heights('remembered'))).toEqual(new Set([0]));
  const [most, lore] = [
    Math.max(...figures.items.map((one) => one.prompt_tokens)),
    await heights('book'),
  ];
  const box = await page.locator('.bars:not(.times)').evaluate((element) => element.clientHeight);
  figures.items.forEach((one, at) =>
    expect(Math.abs(lore[at]! - (box * one.by_source.lore) / most)).toBeLessThan(2),
  );
  // Every turn since the start has its times, and every row of the table its figures.
  await expect(page.locator('.bars.times a:not(.untimed)')).toHaveCount(
    figures.items.filter((one) => one.took).length,
  );
  expect(figures.items.filter((one) => one.took).length).toBeGreaterThan(0);
  const last = figures.items.at(-1)!;
  const row = page.locator('.wtable tbody tr').first();
  await expect(row.locator('[data-l=Prompt]')).toHaveText(
    new Intl.NumberFormat('en').format(last.prompt_tokens),
  );
  await expect(row.locator('[data-l=Lore]')).toHaveText(String(last.by_source.lore));
  await expect(row.locator('[data-l="Cut by budget"]')).toHaveText(String(last.cut));
  await expect(row.locator('[data-l=Unchanged]')).toHaveText(
    last.unchanged_tokens == null
      ? '–'
      : `${Math.round((100 * last.unchanged_tokens) / last.prompt_tokens)}%`,
  );
  await expect(row.locator('[data-l="Weaving, ms"]')).toHaveText(
    last.took
      ? new Intl.NumberFormat('en').format(Math.round(last.took.weaving_ms * 10) / 10)
      : '–',
  );
  await tokens.first().click();
  await expect(page).toHaveURL(new RegExp(`/t/${figures.items[0]!.turn}/prompt$`));
});

test('an unknown address says so and leads back', async ({ page }) => {
  await page.goto('/c/there-is-no-such-story');
  await expect(page.getByRole('alert')).toContainText('There is nothing of that name');
  await axe(page);
});

for (const width of [1024, 390])
  test(`at ${width} px a book is made and a vault can be added`, async ({ page }) => {
    await page.setViewportSize({ width, height: 844 });
    await page.goto('/lore');
    const list = page.getByRole('button', { name: 'Books and vaults…' });
    await list.click();
    await expect(page.getByRole('button', { name: 'Add a vault…' })).toBeVisible();
    await page.getByRole('button', { name: 'New book' }).click();
    await axe(page);
    await shot(page, `narrow-${width}-books`);
    expect(await cutOff(page)).toEqual([]);
    await page.getByRole('textbox', { name: 'Name of the book' }).fill(`Narrow ${width}`);
    await page.keyboard.press('Enter');
    await expect(page).toHaveURL(new RegExp(`Narrow-${width}`));
    await expect(list).toHaveAttribute('aria-expanded', 'false');
    await page.getByRole('button', { name: 'Undo' }).click();
  });

test('at phone width nothing is cut off', async ({ page }) => {
  test.setTimeout(600_000);
  await page.setViewportSize({ width: 390, height: 844 });
  const { chat, turns } = await demo();
  const c = encodeURIComponent(chat);
  for (const [name, path, mark] of [
    ['story', `/c/${c}`, '.msg'],
    ['prompt', `/c/${c}/t/${turns.at(-1)}/prompt`, '.sp'],
    ['why', `/c/${c}/t/${turns.at(-1)}/why`, '.wtable tbody tr'],
    ['lore', '/lore', '.vr'],
    ['settings', '/settings', '.setting'],
    ['slots', '/settings/slots', '.slotstack li'],
    ['models', '/settings/models', '.setting'],
    ['graph', '/graph?chat=demo', '.node'],
    ['dash', '/dash?chat=demo', '.bars a'],
    ['welcome', '/welcome', '.wizard li'],
    ['coverage', '/lore/coverage', '.wtable tbody tr'],
    ['replay', '/replay', 'h1'],
    ['stories', '/stories', '.wtable tbody tr'],
    ['history', '/history', 'h1'],
    ['tree', `/c/${c}/tree`, '.tree li'],
  ] as const) {
    await page.goto(path);
    await expect(page.locator(mark).first()).toBeVisible();
    await axe(page);
    await shot(page, `phone-${name}`);
    expect(await cutOff(page)).toEqual([]);
  }
});

test('at 320 pixels, as at a zoom of four, nothing is cut off', async ({ page }) => {
  test.setTimeout(600_000);
  await page.setViewportSize({ width: 320, height: 640 });
  const { chat, turns } = await demo();
  const c = encodeURIComponent(chat);
  for (const [path, mark] of [
    [`/c/${c}`, '.msg'],
    [`/c/${c}/t/${turns.at(-1)}/prompt`, '.sp'],
    ['/lore', '.vr'],
    ['/graph?chat=demo', '.node'],
    ['/settings/slots', '.slotstack li'],
    ['/dash?chat=demo', '.bars a'],
    ['/welcome', '.wizard li'],
    ['/stories', '.wtable tbody tr'],
  ] as const) {
    await page.goto(path);
    await expect(page.locator(mark).first()).toBeVisible();
    expect(await cutOff(page), path).toEqual([]);
  }
});

test('nothing moves for who wants no motion', async ({ page }) => {
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await page.goto('/settings');
  await expect(page.locator('.seg button').first()).toBeVisible();
  const moving = await page.evaluate(
    () =>
      [...document.querySelectorAll('*')].filter((element) => {
        const style = getComputedStyle(element);
        return (
          style.transitionDuration.split(',').some((time) => parseFloat(time) > 0) ||
          style.animationName !== 'none'
        );
      }).length,
  );
  expect(moving).toBe(0);
});

test('why, fix, save and undo by the keyboard alone', async ({ page }) => {
  await book('keyed', [
    { key: ['nobodysaysthis'], comment: 'The lantern law', content: 'Lanterns stay lit.' },
  ]);
  try {
    await page.goto('/c/demo');
    await expect(page.locator('.msg').first()).toBeVisible();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('lantern law');
    await expect(page.getByRole('option', { name: /Entry/ })).toBeVisible();
    await page.keyboard.press('Enter');
    await expect(page.locator('.ed h2')).toHaveText('The lantern law');
    await page.keyboard.press('e');
    await expect(page.getByLabel('Content')).toBeFocused();
    await page.keyboard.press('End');
    await page.keyboard.type(' All night.');
    await page.keyboard.press('Control+s');
    await expect(page.locator('[data-notice]')).toContainText('Saved “The lantern law”');
    // Out of the text field, which has its own undo.
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Tab');
    await page.locator('[data-notice] button').first().focus();
    await page.keyboard.press('Enter');
    await expect(page.getByLabel('Content')).toHaveValue('Lanterns stay lit.');
  } finally {
    await json('/books/keyed', { method: 'DELETE' });
  }
});
