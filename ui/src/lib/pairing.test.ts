import { expect, test } from 'vitest';
import { backTo, originOf } from './pairing';

test('only addresses of the web have an origin', () => {
  expect(originOf(' http://127.0.0.1:8000/x ')).toBe('http://127.0.0.1:8000');
  expect(originOf('https://tales.example:443')).toBe('https://tales.example');
  for (const wrong of ['', '127.0.0.1:8000', 'javascript:alert(1)', 'data:text/html,x'])
    expect(originOf(wrong), wrong).toBeNull();
});

test('a key never goes to another page than the one it is for', () => {
  const page = 'http://127.0.0.1:8000';
  expect(backTo(page, '/scripts/paired.html')).toBe(`${page}/scripts/paired.html`);
  for (const wrong of ['', 'https://evil.example/', '//evil.example/x', '/\\evil.example/x'])
    expect(backTo(page, wrong), wrong).toBeNull();
  expect(backTo(null, '/scripts/paired.html')).toBeNull();
});
