import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { axe, book, expect, shot, test, theme } from './kit';
import { serve } from './server';

test('lore that lingers for the prompt cache is told as such', async ({ page }) => {
  const data = mkdtempSync(join(tmpdir(), 'loreloom-lingering-'));
  const before = process.env.LORELOOM_URL;
  const server = await serve(
    'serve',
    '--port',
    '0',
    '--placement',
    'stable',
    '--deadline',
    '60000',
    '--data',
    data,
  );
  process.env.LORELOOM_URL = server.address;
  try {
    await book('quay', [
      { key: ['quay'], comment: 'The quay', content: 'The quay is slippery with weed.' },
      { key: ['bell'], comment: 'The bell', content: 'The bell is hollow.' },
    ]);
    const messages = [{ role: 'system', content: 'You are Orla.' }];
    for (const said of [
      'Hello, Orla.',
      'Let us go to the quay.',
      'It is late.',
      'I am tired.',
      'Was that the bell?',
    ]) {
      messages.push({ role: 'user', content: said });
      const answer = await fetch(`${server.address}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-loreloom-chat': 'late' },
        body: JSON.stringify({ model: 'm', messages }),
      });
      await answer.text();
      messages.push({ role: 'assistant', content: 'Yes.' });
    }
    for (const mode of ['light', 'dark'] as const) {
      await theme(page, mode);
      await page.goto(`${server.address}/c/late/t/5/why`);
      await expect(page.locator('[data-verdict=lingering] .n')).toHaveText('1');
      await page.locator('[data-verdict=lingering]').click();
      const row = page.locator('tr[data-entry="quay/0"]');
      await expect(row).toContainText('Still there');
      await expect(row).toContainText(
        'its text is still in the chat at depth 7, for the prompt cache; not asked for since message 5',
      );
      await row.getByRole('link', { name: 'The quay' }).click();
      await expect(page.locator('.steps')).toContainText(
        'its text is still in the chat at depth 7',
      );
      await expect(page.locator('.side blockquote')).toHaveText('The quay is slippery with weed.');
      await axe(page);
      await shot(page, `lingering-${mode}`);
    }
    await page.goto(`${server.address}/c/late/t/5/why/quay%2F1`);
    await expect(page.locator('.steps')).toContainText(
      'in the chat at depth 1, for the prompt cache, instead of before the character',
    );
    // Elsewhere nothing lingers, and nothing is offered.
    await page.goto(`${server.address}/c/late/t/1/why`);
    await expect(page.locator('[data-verdict=no_match] .n')).toHaveText('2');
    await expect(page.locator('[data-verdict=lingering]')).toHaveCount(0);
    await page.goto(`${server.address}/c/late`);
    await expect(page.locator('.th[data-k=lingering]').first()).toBeAttached();
    await shot(page, 'lingering-story-dark');
  } finally {
    server.stop();
    process.env.LORELOOM_URL = before;
    rmSync(data, { recursive: true, force: true });
  }
});
