/**
 * `npm run docs [-- --check]`: writes the tables of options, metrics and log events into the pages that have their markers. With
 * --check it writes nothing, and exits with 1 if a table is out of date.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  defaultText,
  flagOf,
  flagText,
  groups,
  type Option,
  variableOf,
} from '../src/core/config/option.ts';
import { table } from '../src/core/config/table.ts';
import { logEvents } from '../src/core/observe/events.ts';
import {
  blockedMetrics,
  callMetrics,
  counterTable,
  gaugeTable,
  type MetricRow,
  placeMetric,
} from '../src/core/observe/metric-table.ts';
import { root } from './script.ts';
import { withSection } from './section.ts';

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

/** Its names in a row each: series that differ by the value of a label are one metric. */
function metricRows(table: Readonly<Record<string, MetricRow>>, isOfProcess: boolean): string[] {
  const byName = new Map<string, MetricRow[]>();
  for (const one of Object.values(table)) {
    byName.set(one.name, [...(byName.get(one.name) ?? []), one]);
  }
  return Array.from(byName, ([name, series]) => {
    const [{ help, by, measured = [] }] = series as [MetricRow];
    const fixed = new Map<string, Set<string>>();
    for (const { labels = {} } of series) {
      for (const [label, value] of Object.entries(labels)) {
        const values = fixed.get(label) ?? new Set();
        fixed.set(label, values.add(value));
      }
    }
    const labels = [
      ...measured,
      ...(by === undefined ? [] : [by]),
      ...Array.from(fixed, ([label, values]) => `${label}: ${[...values].join(', ')}`),
      ...(isOfProcess ? ['process'] : []),
    ];
    return `| ${code(name)} | ${labels.join('; ')} | ${cell(help)} |`;
  });
}

function metricTable(): string {
  return [
    '| Metric | Labels | What it is |',
    '|---|---|---|',
    ...metricRows({ ...callMetrics, ...blockedMetrics }, false),
    ...metricRows({ placeMetric }, true),
    ...metricRows(counterTable, false),
    ...metricRows(gaugeTable, true),
  ].join('\n');
}

function eventTable(): string {
  const rows = Object.entries(logEvents).map(
    ([event, { level, when, fields }]) => `| ${code(event)} | ${level} | ${when} | ${fields} |`,
  );
  return ['| Event | Level | When | Fields |', '|---|---|---|---|', ...rows].join('\n');
}

const tables = [
  { page: 'docs/reference/options.md', marker: 'config', text: configTable() },
  { page: 'docs/reference/metrics.md', marker: 'metrics', text: metricTable() },
  { page: 'docs/reference/log.md', marker: 'events', text: eventTable() },
];

for (const { page, marker, text } of tables) {
  const before = readFileSync(join(root, page), 'utf8');
  const after = withSection(before, marker, text);
  if (before === after) {
    console.log(`${page}: the table is current`);
  } else if (process.argv.includes('--check')) {
    console.error(`${page}: the table is out of date; run npm run docs`);
    process.exitCode = 1;
  } else {
    writeFileSync(join(root, page), after);
    console.log(`${page}: the table was rewritten`);
  }
}
