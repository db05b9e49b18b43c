import js from '@eslint/js';
import globals from 'globals';

export default [
  js.configs.recommended,
  {
    files: ['sillytavern/**'],
    languageOptions: {
      globals: { ...globals.browser, SillyTavern: 'readonly', toastr: 'readonly' },
    },
  },
  {
    files: ['test/**', 'e2e/**', '*.js'],
    languageOptions: { globals: { ...globals.node, ...globals.browser, SillyTavern: 'readonly' } },
  },
  {
    // Playwright finds a test's fixtures by its parameter pattern.
    files: ['e2e/**'],
    rules: { 'no-empty-pattern': ['error', { allowObjectPatternsAsParameters: true }] },
  },
];
