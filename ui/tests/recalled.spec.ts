import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { axe, expect, shot, test } from './kit';
import { serve } from './server';

type Said = { role: string; content: string };

test('the inspector says which channels found a recalled passage', async ({ page }) => {
  const data = mkdtempSync(join(tmpdir(), 'loreloom-recalled-'));
  const before = process.env.LORELOOM_URL;
  const server = await serve('serve', '--port', '0', '--data', data);
  process.env.LORELOOM_URL = server.address;
  const ask = async (messages: Said[]) => {
    const answer = await fetch(`${server.address}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-loreloom-chat': 'old' },
      body: JSON.stringify({ model: 'm', messages: messages.slice(-4) }),
    });
    const reply = (await answer.json()) as { choices: { message: Said }[] };
    messages.push({ role: 'assistant', content: reply.choices[0]?.message.content ?? '' });
  };
  try {
    const story: Said[] = [
      { role: 'user', content: 'My grandmother hid the brass key under the third step.' },
    ];
    await ask(story);
    for (let at = 0; at < 8; at++) {
      story.push({ role: 'user', content: `We walk on past milestone ${at} in the rain.` });
      await ask(story);
    }
    story.push({ role: 'user', content: 'Where did my grandmother hide the brass key?' });
    await ask(story);
    await page.goto(`${server.address}/c/old/t/10/prompt`);
    await page.getByRole('button', { name: /Passages from earlier in the story/ }).click();
    const recalled = page.locator('[data-recalled="1"]');
    await expect(recalled).toContainText('Message 1');
    await expect(recalled).toContainText('words (grandmother, hide, brass, key)');
    await expect(recalled).toContainText('hid the brass key under the third step');
    await axe(page);
    await shot(page, 'recalled-light');
  } finally {
    server.stop();
    process.env.LORELOOM_URL = before;
    rmSync(data, { recursive: true, force: true });
  }
});
