/**
 * `node --import tsx scripts/docs.ts [--check]`: writes the configuration table into the pages that have its markers.
 * With --check it writes nothing, and exits with 1 where a table is out of date.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { configTable } from '../src/core/config/docs.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const pages = ['docs/reference/options.md'];
const start = '<!-- config:start -->';
const end = '<!-- config:end -->';

function withTable(page: string, text: string): string {
  const from = text.indexOf(start);
  const to = text.indexOf(end);
  if (from === -1 || to < from) throw new Error(`${page} lacks ${start} and ${end}`);
  return `${text.slice(0, from + start.length)}\n\n${configTable()}\n\n${text.slice(to)}`;
}

for (const page of pages) {
  const before = readFileSync(join(root, page), 'utf8');
  const after = withTable(page, before);
  if (before === after) {
    console.log(`${page}: the configuration table is current`);
  } else if (process.argv.includes('--check')) {
    console.error(`${page}: the configuration table is out of date; run npm run docs`);
    process.exitCode = 1;
  } else {
    writeFileSync(join(root, page), after);
    console.log(`${page}: the configuration table was rewritten`);
  }
}
