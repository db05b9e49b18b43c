import { axe, book, demo, expect, json, shot, test, url } from './kit';

test('a request of a front end appears without a reload', async ({ page }) => {
  await page.goto('/stories');
  await expect(page.locator('.wtable tbody tr').first()).toBeVisible();
  const before = await page.locator('.wtable tbody tr').count();
  const sent = await fetch(`${url()}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-loreloom-chat': 'live-one' },
    body: JSON.stringify({
      model: 'm',
      messages: [{ role: 'user', content: 'Is the bell of Harrow still there?' }],
    }),
  });
  await sent.text();
  await expect(page.locator('.wtable tbody tr')).toHaveCount(before + 1);
});

test('typing shows what would be woven in, asks no model and stores nothing', async ({ page }) => {
  const { chat, turns } = await demo();
  const calls: string[] = [];
  page.on('request', (request) => calls.push(new URL(request.url()).pathname));
  await page.goto(`/c/${encodeURIComponent(chat)}`);
  const box = page.getByLabel('Your next message');
  await box.fill('I walk the causeway again.');
  await expect(page.locator('.composer .chip', { hasText: 'causeway' })).toBeVisible();
  await shot(page, 'composer-light');
  await page.getByRole('tab', { name: 'Dry run' }).click();
  await page.getByRole('button', { name: /Weave/ }).click();
  await expect(page.getByRole('dialog').locator('.sp[data-src=book]').first()).toBeVisible();
  await axe(page);
  await shot(page, 'dryrun-light');
  await page.keyboard.press('Escape');
  await box.fill('Hm.');
  await expect(page.locator('.composer .chip', { hasText: 'causeway' })).toHaveCount(0);
  expect(calls.filter((path) => path.startsWith('/v1/'))).toEqual([]);
  expect((await demo()).turns).toEqual(turns);
});

test('the story is gone on with, swiped, edited, and each branch can be gone back to', async ({
  page,
}) => {
  const { chat } = await demo();
  const c = encodeURIComponent(chat);
  await page.goto(`/c/${c}`);
  await expect(page.locator('.msg').first()).toBeVisible();
  const before = await page.locator('.msg').count();
  const box = page.getByLabel('Your next message');
  await box.fill('I ask Orla about the causeway.');
  await page.keyboard.press('Control+Enter');
  await expect(page.locator('.msg')).toHaveCount(before + 2);
  await expect(page.locator('.msg').last().locator('.chips')).toContainText(/causeway/i);
  const first = await page.locator('.msg .prose').last().textContent();

  // Edited: the same place, another branch.
  await page.locator('.msg').nth(before).hover();
  await page
    .locator('.msg')
    .nth(before)
    .getByRole('button', { name: 'Edit this message as a new branch' })
    .click();
  await expect(box).toHaveValue('I ask Orla about the causeway.');
  await box.fill('I ask Orla about nothing at all.');
  await page.keyboard.press('Control+Enter');
  await expect(page.locator('.msg').nth(before)).toContainText('nothing at all');
  await expect(page.locator('.msg')).toHaveCount(before + 2);
  await expect(page.locator('.msg').nth(before).locator('.swipe')).toContainText('2/2');

  // Back to the first branch, and forth.
  await page.locator('.msg').nth(before).getByRole('button', { name: 'Previous version' }).click();
  await expect(page.locator('.msg').nth(before)).toContainText('about the causeway');
  await expect(page.locator('.msg .prose').last()).toHaveText(first ?? '');
  await expect(page.locator('.elsewhere')).toBeVisible();
  await page.getByRole('link', { name: 'Back to where the story is' }).click();
  await expect(page.locator('.msg').nth(before)).toContainText('nothing at all');

  await page.getByRole('tab', { name: /Branches/ }).click();
  await expect(page.locator('.tree li')).toHaveCount(
    (await json<{ nodes: unknown[] }>(`/chats/${c}/tree`)).nodes.length,
  );
  await axe(page);
  await shot(page, 'branches-light');
  await page.locator('.tree button', { hasText: 'I ask Orla about the causeway.' }).click();
  await expect(page.locator('.msg', { hasText: 'I ask Orla about the causeway.' })).toBeVisible();
  await page.getByRole('button', { name: 'Go on from here' }).click();
  await expect(page.locator('.elsewhere')).toHaveCount(0);
  await expect(page.locator('.msg .prose').last()).toHaveText(first ?? '');
  await page.locator('[data-notice] button', { hasText: 'Undo' }).click();
  await expect(page.locator('.msg').nth(before)).toContainText('nothing at all');
});

test('selected words are looked for in lore, asked about, and made an entry', async ({ page }) => {
  const { chat } = await demo();
  await book('words', []);
  try {
    await page.goto(`/c/${encodeURIComponent(chat)}`);
    const line = page.locator('.msg .prose p').last();
    await expect(line).toBeVisible();
    const pick = () =>
      line.evaluate((element) => {
        // Marks such as quotes are elements of their own.
        const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
        let text = walker.nextNode()!;
        while ((text.textContent ?? '').length < 11) text = walker.nextNode()!;
        const range = document.createRange();
        range.setStart(text, 1);
        range.setEnd(text, 10);
        const selection = window.getSelection()!;
        selection.removeAllRanges();
        selection.addRange(range);
        return selection.toString().trim();
      });
    // What is drawn anew meanwhile takes the selection away.
    const toolbar = page.getByRole('toolbar', { name: 'With these words' });
    let words = '';
    const picked = () =>
      expect(async () => {
        words = await pick();
        await expect(toolbar).toBeVisible({ timeout: 3000 });
      }).toPass();
    await picked();
    await axe(page);
    await shot(page, 'picked-light');
    await page.getByRole('link', { name: 'Find in lore' }).click();
    await expect(page.getByRole('searchbox')).toHaveValue(`"${words}"`);
    await page.goBack();
    await expect(line).toBeVisible();
    await picked();
    await page.getByRole('link', { name: 'Why nothing here?' }).click();
    await expect(page).toHaveURL(/\/why\?q=/);
    await page.goBack();
    await expect(line).toBeVisible();
    await picked();
    await page.getByRole('button', { name: 'Make an entry' }).click();
    await expect(page.locator('.ed h2')).toHaveText(words);
    await expect(
      page.locator('.ed .keytok, .ed .tok').first().or(page.locator('.ed').getByText(words).nth(1)),
    ).toBeVisible();
  } finally {
    await json('/books/words', { method: 'DELETE' });
  }
});
