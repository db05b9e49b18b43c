import { existsSync } from 'node:fs';
import { defineConfig } from '@playwright/test';

const chromium = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  (path) => existsSync(path),
);

export default defineConfig({
  testDir: './e2e',
  // `./dev bench extension` measures; `./dev test e2e` tests.
  testMatch: process.env.LORELOOM_BENCH ? '*.bench.js' : '*.spec.js',
  outputDir: '../target/e2e/results',
  globalSetup: './e2e/setup.js',
  // One SillyTavern: what a test changes, the next would see.
  workers: 1,
  fullyParallel: false,
  // Generous: a busy machine is not a fault of the extension.
  timeout: 180_000,
  expect: { timeout: 20_000 },
  // CI tries a failed test up to twice more and lists it as flaky; at home a failure is a failure.
  retries: process.env.CI ? 2 : 0,
  reporter: [['line']],
  use: {
    browserName: 'chromium',
    viewport: { width: 1280, height: 900 },
    locale: 'en-US',
    launchOptions: {
      executablePath: process.env.LORELOOM_CHROMIUM ?? chromium,
      args: ['--no-sandbox'],
    },
  },
});
