// Starts everything once for all tests: model and SillyTavern.
import { mkdtempSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { startModel } from './model.js';
import { WORK, startSillyTavern } from './programs.js';

export default async function start() {
  mkdirSync(join(WORK, 'runs'), { recursive: true });
  const folder = mkdtempSync(join(WORK, 'runs/run-'));
  const model = await startModel();
  const tavern = await startSillyTavern(folder, {
    modelUrl: model.url,
    // Each test has a Loreloom of its own. A busy machine must not look like one that is away.
    loreloom: { mode: 'off', deadline: 20000 },
  });
  Object.assign(process.env, {
    E2E_MODEL: model.url,
    E2E_TAVERN: tavern.url,
    E2E_FOLDER: folder,
  });
  return async () => {
    await tavern.stop();
    model.stop();
    if (!process.env.E2E_KEEP) rmSync(folder, { recursive: true, force: true });
  };
}
