/**
 * `npm run docs [-- --check]`: writes the configuration table into the pages that have its markers. With --check it writes nothing,
 * and exits with 1 if a table is out of date.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  defaultText,
  flagOf,
  flagText,
  groups,
  type Option,
  variableOf,
} from '../src/core/config/option.ts';
import { table } from '../src/core/config/table.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const pages = ['docs/reference/options.md'];
const start = '<!-- config:start -->';
const end = '<!-- config:end -->';

const rows: [name: string, option: Option<unknown>][] = Object.entries(table);

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('*', '\\*').replaceAll('<', '&lt;');
}

function code(text: string): string {
  return `\`${text.replaceAll('|', '\\|')}\``;
}

/** The flag in the table of docs/reference. A switch whose default depends on something shows both forms. */
function flagCell(name: string, option: Option<unknown>): string {
  const depends = option.kind.placeholder === undefined && 'from' in option.fallback;
  return code(depends ? `--[no-]${flagOf(name, option)}` : flagText(name, option));
}

function row([name, option]: [string, Option<unknown>]): string {
  const cells = [
    code(name),
    flagCell(name, option),
    code(variableOf(name, option)),
    cell(defaultText(option)),
    cell(`${option.about}. Why: ${option.reason}.`),
  ];
  return `| ${cells.join(' | ')} |`;
}

function configTable(): string {
  const sections = groups.map((group) =>
    [
      `**${group}**`,
      '',
      '| Option | Flag | Environment | Default | What it is |',
      '|---|---|---|---|---|',
      ...rows.filter(([, option]) => option.group === group).map(row),
    ].join('\n'),
  );
  return sections.join('\n\n');
}

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
