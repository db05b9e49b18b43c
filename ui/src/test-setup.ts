// The little of a browser that modules touch while they load, so that unit tests run in node.
import { vi } from 'vitest';

const silent = { matches: false, addEventListener: () => undefined };
vi.stubGlobal('window', { matchMedia: () => silent, localStorage: undefined });
vi.stubGlobal('navigator', { language: 'en-US' });
