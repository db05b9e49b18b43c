// Writes src/api/schema.ts: the API's types from docs/openapi.json. Paths are left out; the
// client names them itself.
import { readFile, writeFile } from 'node:fs/promises';
import openapiTS, { astToString } from 'openapi-typescript';

const source = process.argv[2] ?? new URL('../../docs/openapi.json', import.meta.url);
const document = JSON.parse(await readFile(source, 'utf8'));
const types = astToString(await openapiTS({ ...document, paths: {} }, { alphabetize: true }));
const text = `// Made by \`npm run types\` from docs/openapi.json.\n${types}`;
await writeFile(new URL('../src/api/schema.ts', import.meta.url), text);
