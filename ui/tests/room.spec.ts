import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { axe, expect, shot, test } from './kit';
import { serve } from './server';

test('messages that a full context leaves out are named above the prompt', async ({ page }) => {
  const data = mkdtempSync(join(tmpdir(), 'loreloom-room-'));
  const before = process.env.LORELOOM_URL;
  const server = await serve('serve', '--port', '0', '--data', data);
  process.env.LORELOOM_URL = server.address;
  try {
    const messages = Array.from({ length: 41 }, (_, at) => ({
      role: at % 2 ? 'assistant' : 'user',
      content: `Message ${at}: ${'and the tide came in '.repeat(6)}`,
    }));
    const answer = await fetch(`${server.address}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-loreloom-chat': 'full' },
      body: JSON.stringify({ model: 'm', truncation_length: 600, max_tokens: 100, messages }),
    });
    const count = Number(answer.headers.get('x-loreloom-left-out'));
    expect(count).toBeGreaterThan(20);
    await answer.text();
    await page.goto(`${server.address}/c/full/t/1/prompt`);
    const room = page.locator('[data-room]');
    await expect(room).toContainText(`The ${count} oldest messages were not sent`);
    await room.locator('summary').click();
    await expect(room.locator('li')).toHaveCount(count);
    await expect(room.locator('li').first()).toContainText('Message 0: and the tide');
    await axe(page);
    await shot(page, 'room-light');
  } finally {
    server.stop();
    process.env.LORELOOM_URL = before;
    rmSync(data, { recursive: true, force: true });
  }
});
