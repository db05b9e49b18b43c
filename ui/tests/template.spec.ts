// The prompt template: blocks moved by drag and by keys, switched off, own texts, per story.
import { axe, cutOff, expect, json, setting, shot, test } from './kit';
import { ScriptedModel } from './scripted';

const patch = (path: string, body: unknown) =>
  json(path, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

test('blocks are moved, switched off and written, seen on a stored turn, saved and undone', async ({
  page,
}) => {
  const usual = (await setting('weaving.template')) as string[];
  await page.goto('/settings/prompt');
  const rows = page.locator('[data-block]');
  await expect(rows).toHaveCount(usual.length);
  const view = page.getByRole('region', { name: 'Preview on a stored turn' });
  await expect(view.locator('li').first()).toBeVisible();

  // By keys: the scenario moves up one place and keeps the focus.
  const grip = page.getByRole('button', { name: /^Move “Scenario”: drag/ });
  await grip.press('ArrowUp');
  await expect(grip).toBeFocused();
  const at = usual.indexOf('scenario');
  await expect(rows.nth(at - 1)).toHaveAttribute('data-block', 'scenario');
  // By dragging: the persona becomes the first block.
  await page
    .getByRole('button', { name: /^Move “Persona”: drag/ })
    .dragTo(rows.first(), { targetPosition: { x: 60, y: 8 } });
  await expect(rows.first()).toHaveAttribute('data-block', 'persona');
  await page.getByRole('checkbox', { name: 'Personality' }).uncheck();
  await page.getByRole('button', { name: 'Text of your own', exact: true }).click();
  const probe = '<img src=x onerror=alert(1)> Speak to {{user}}.\nBe brief.';
  await page.getByLabel('Words of this block').fill(probe);
  await expect(view).toContainText('<img src=x onerror=alert(1)> Speak to Mira.');
  await axe(page);
  await shot(page, 'template-light');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.locator('[data-notice]')).toContainText('The prompt template is changed');
  const saved = (await setting('weaving.template')) as string[];
  expect(saved[0]).toBe('persona');
  expect(saved).toContain('off:personality');
  expect(saved).toContain('text:<img src=x onerror=alert(1)> Speak to {{user}}.\\nBe brief.');
  expect(saved.indexOf('scenario')).toBeLessThan(saved.indexOf('description') + 3);
  await page.keyboard.press('Control+z');
  await expect(rows.first()).toHaveAttribute('data-block', usual[0]!);
  expect(await setting('weaving.template')).toEqual(usual);
});

test('a story has a template of its own, and its prompts follow it', async ({ page }) => {
  const model = await ScriptedModel.start();
  try {
    await json('/connections/scripted', {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ kind: 'openai', url: model.address, model: 'scripted-1' }),
    });
    const { chat } = await json<{ chat: string }>('/stories', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        title: 'Templates',
        opening: 'It rains.',
        setup: { model: { model: 'scripted/scripted-1' } },
      }),
    });
    await page.goto(`/c/${chat}`);
    await page.getByRole('button', { name: 'Cast and note' }).click();
    await page.getByRole('button', { name: 'Prompt template of this story' }).click();
    await page.getByLabel('This story has a template of its own').check();
    await page.getByRole('checkbox', { name: 'Main prompt', exact: true }).uncheck();
    await page.getByRole('button', { name: 'Text of your own', exact: true }).click();
    await page.getByLabel('Words of this block').fill('Only whispers.');
    await axe(page);
    await shot(page, 'template-story-light');
    await page.getByRole('button', { name: 'Save' }).click();
    await expect(page.locator('dialog')).toHaveCount(0);
    model.say('Psst.');
    await page.getByLabel('Your next message').fill('Hello?');
    await page.keyboard.press('Enter');
    await expect(page.locator('.msg .prose').last()).toHaveText('Psst.');
    const sent = model.last().messages.map((one) => one.content);
    expect(sent).toContain('Only whispers.');
    expect(sent.join('\n')).not.toContain('You are the narrator');
    await patch(`/chats/${chat}/setup`, { template: null });

    // Another version with another temperature; the story keeps its own.
    await expect(page.getByRole('button', { name: 'Stop' })).toHaveCount(0);
    await page.locator('.msg').last().hover();
    await page.getByRole('button', { name: 'More for message 3', exact: true }).click();
    await page.getByRole('menuitem', { name: 'Another version with' }).click();
    await page.getByLabel('Temperature').fill('1.7');
    await page.getByRole('button', { name: 'Save as preset' }).click();
    await page.getByLabel('Name of the preset').fill('<b>Storm</b>');
    await page.keyboard.press('Enter');
    await expect(page.getByRole('button', { name: '<b>Storm</b>', exact: true })).toBeVisible();
    await axe(page);
    await shot(page, 'presets-light');
    model.say('Louder!');
    await page.getByRole('button', { name: 'Write it' }).click();
    await expect(page.locator('.msg .prose').last()).toHaveText('Louder!');
    expect(model.last().temperature).toBe(1.7);
    const { setup } = await json<{ setup: { model: Record<string, unknown> } }>(
      `/chats/${chat}/setup`,
    );
    expect(setup.model).toEqual({ model: 'scripted/scripted-1' });

    // The preset is renamed, used for the story, and deleted.
    await page.getByRole('button', { name: /Model:/ }).click();
    await page.getByRole('button', { name: /Actions for the preset/ }).click();
    await page.getByRole('menuitem', { name: 'Rename' }).click();
    await page.getByLabel('Name of the preset').fill('Gale');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Gale', exact: true }).click();
    await expect(page.getByLabel('Temperature')).toHaveValue('1.7');
    await page.getByRole('button', { name: 'Actions for the preset “Gale”' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await expect(page.getByRole('button', { name: 'Gale', exact: true })).toHaveCount(0);
  } finally {
    await json('/connections/scripted', { method: 'DELETE' });
    model.stop();
  }
});

test('the template fits on a phone', async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto('/settings/prompt');
  await expect(page.locator('[data-block]').first()).toBeVisible();
  expect(await cutOff(page)).toEqual([]);
  await axe(page);
  await shot(page, 'template-phone');
});
