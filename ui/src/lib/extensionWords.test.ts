// The extension for SillyTavern words verdicts, warnings and fixes as the page does: these files of
// it are made from the page's. `npm run words` writes them anew.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format } from 'prettier';
import ts from 'typescript';
import { expect, test } from 'vitest';
import { de } from '../i18n/de';
import { en } from '../i18n/en';

const MADE = '../../../extensions/sillytavern/made/';
const MODULES = ['intl', 'format', 'verdicts', 'findings', 'warnings'];
const TEXTS =
  /^(why|where|stop|stands|place|fix|hazard|warning|mem\.kind|jobs\.kind|jobs\.state|quoted)(\.|$)/;

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const pretty = (source: string) =>
  format(source, { parser: 'babel', printWidth: 100, singleQuote: true });
const heading = (source: string) =>
  `// Made from ${source} by \`npm run words\` in ui/. Do not change it here.\n`;

/** A module of the page as plain JavaScript, with the extension's words instead of the page's. */
function plain(name: string): string {
  const source = readFileSync(file(`./${name}.ts`), 'utf8');
  const { outputText } = ts.transpileModule(source, {
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
  });
  return outputText
    .replaceAll(`'./i18n.svelte'`, `'../sentences.js'`)
    .replaceAll(/from '(\.\/\w+)'/g, `from '$1.js'`);
}

test.each(MODULES)('the extension has %s as the page has it', async (name) => {
  const made = heading(`ui/src/lib/${name}.ts`) + plain(name);
  await expect(await pretty(made)).toMatchFileSnapshot(file(`${MADE}${name}.js`));
});

test('the extension has the sentences of the page', async () => {
  const some = (all: Record<string, string>) =>
    Object.fromEntries(Object.entries(all).filter(([key]) => TEXTS.test(key)));
  const texts = JSON.stringify({ en: some(en), de: some(de) });
  const made = `${heading('ui/src/i18n')}export const SENTENCES = ${texts};\n`;
  await expect(await pretty(made)).toMatchFileSnapshot(file(`${MADE}texts.js`));
});
