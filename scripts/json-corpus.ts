/** `npm run json-corpus`: writes the files of the JSON corpus in test/fixtures/json again. */
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { corpus, corpusFolder, filesOf } from '../test/hostile/json/corpus.ts';

const folder = fileURLToPath(new URL(`../${corpusFolder}`, import.meta.url));
const files = filesOf(corpus);
for (const name of readdirSync(folder)) {
  if (name.endsWith('.json') && !files.has(name)) rmSync(join(folder, name));
}
for (const [name, bytes] of files) writeFileSync(join(folder, name), bytes);
console.log(`${files.size} files in ${corpusFolder}`);
