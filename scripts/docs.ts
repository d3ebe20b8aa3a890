/**
 * `node --import tsx scripts/docs.ts [--check]`: writes the configuration table into README.md, between its config
 * markers. With --check it writes nothing, and exits with 1 where the table is out of date.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { configTable } from '../src/config/docs.ts';

const readme = fileURLToPath(new URL('../README.md', import.meta.url));
const start = '<!-- config:start -->';
const end = '<!-- config:end -->';

function withTable(text: string): string {
  const from = text.indexOf(start);
  const to = text.indexOf(end);
  if (from === -1 || to < from) throw new Error(`README.md lacks ${start} and ${end}`);
  return `${text.slice(0, from + start.length)}\n\n${configTable()}\n\n${text.slice(to)}`;
}

const before = readFileSync(readme, 'utf8');
const after = withTable(before);
if (before === after) {
  console.log('README.md: the configuration table is current');
} else if (process.argv.includes('--check')) {
  console.error('README.md: the configuration table is out of date; run npm run docs');
  process.exitCode = 1;
} else {
  writeFileSync(readme, after);
  console.log('README.md: the configuration table was rewritten');
}
