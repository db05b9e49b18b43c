import { existsSync } from 'node:fs';
import { defineConfig } from '@playwright/test';

const chromium = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  (path) => existsSync(path),
);

export default defineConfig({
  testDir: './tests',
  // `*.test.ts` are unit tests, which vitest runs.
  testMatch: '*.spec.ts',
  outputDir: '../target/ui/results',
  // Each worker has a server of its own. The tests of a file run in order.
  workers: 2,
  fullyParallel: false,
  // Generous: a busy machine is not a fault of the page.
  timeout: 400_000,
  expect: { timeout: 30_000 },
  // CI tries a failed test up to twice more and lists it as flaky; at home a failure is a failure.
  retries: process.env.CI ? 2 : 0,
  reporter: [['line']],
  use: {
    browserName: 'chromium',
    viewport: { width: 1440, height: 900 },
    locale: 'en-US',
    launchOptions: {
      executablePath: process.env.LORELOOM_CHROMIUM ?? chromium,
      args: ['--no-sandbox'],
    },
  },
});
