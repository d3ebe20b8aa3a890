/** The tables of docs/benchmark.md, made of one whole run. */
import { readFileSync, writeFileSync } from 'node:fs';
import { withSection } from '../scripts/section.ts';
import type { Results, SuiteResult } from './results.ts';
import { rootPath } from './root.ts';
import { median } from './statistics.ts';
import {
  figure,
  limitText,
  machineText,
  madeOn,
  markdownTable,
  measuredText,
  range,
} from './table.ts';
import type { Target } from './targets.ts';

/** The targets that say how fast Tandem is beside others: those that a reader looks for first. */
const besideOthers =
  /^(inline|pooled) add over (jayson|fastify|tRPC|uWS)\b|^light p99 .* workers = cores - 1$/;

const page = 'docs/benchmark.md';

/** Writes the tables into the page. A suite that was not measured leaves its table as it is. */
export function publishFigures(results: Results): void {
  const path = rootPath(page);
  let text = readFileSync(path, 'utf8');
  text = withSection(text, 'targets', targetsSection(results));
  for (const [name, tableOf] of Object.entries(tables)) {
    const suite = results.suites.find((one) => one.name === name);
    if (suite !== undefined) text = withSection(text, name, tableOf(suite));
  }
  writeFileSync(path, text);
}

function targetsSection({ targets, command, date, machine }: Results): string {
  const first = targets.filter(({ figure: name }) => besideOthers.test(name));
  const missed = targets.filter(({ met }) => !met);
  const source = `\`${command}\` ${madeOn(date, machine)}: ${machineText(machine)}`;
  const others = `${targets.length - missed.length} of ${targets.length} targets are met. These are not:`;
  return [rowsOf(first), others, rowsOf(missed), source].join('\n\n');
}

function rowsOf(targets: readonly Target[]): string {
  const rows = targets.map((one) => [
    one.figure,
    limitText(one.limit),
    measuredText(one),
    one.met ? 'yes' : '**no**',
  ]);
  return markdownTable(['figure', 'target', 'measured', 'met'], rows);
}

/** One column of a table: its head, and which case and metric it shows. */
interface Column {
  readonly head: string;
  readonly name: string;
  readonly metric: string;
  /** Whether the lowest and the highest round stand beside the median. */
  readonly hasRange?: boolean;
}

const light = 'light alone';
const beside = 'light under heavy';

/** By the names of suites. */
const tables: Readonly<Record<string, (suite: SuiteResult) => string>> = {
  http: (suite) => {
    const name = '64 connections';
    const columns = [
      { head: 'requests/s', name, metric: 'requests', hasRange: true },
      { head: 'p50, ms', name, metric: 'p50' },
      { head: 'p99, ms', name, metric: 'p99', hasRange: true },
      { head: 'CPU of a request, us', name, metric: 'cpu' },
    ];
    return bySubject(suite, 'server', columns, true);
  },
  hop: (suite) =>
    bySubject(suite, 'calls/s', [
      { head: '1 in flight', name: '1 in flight', metric: 'calls' },
      { head: '64', name: '64 in flight', metric: 'calls', hasRange: true },
      { head: '1024', name: '1024 in flight', metric: 'calls' },
      { head: 'CPU at 64, us', name: '64 in flight', metric: 'cpu' },
    ]),
  isolation: (suite) =>
    bySubject(suite, 'server', [
      { head: 'alone, p99 ms', name: light, metric: 'light p99', hasRange: true },
      { head: 'beside, p50 ms', name: beside, metric: 'light p50' },
      { head: 'beside, p99 ms', name: beside, metric: 'light p99', hasRange: true },
      { head: 'heavy calls/s alone', name: 'heavy alone', metric: 'heavy' },
      { head: 'beside', name: beside, metric: 'heavy' },
    ]),
  mixture: (suite) => {
    const row = (label: string, alone: string, busy: string): string[] => [
      label,
      cell(suite, 'tandem', { name: alone, metric: 'light p50' }),
      cell(suite, 'tandem', { name: alone, metric: 'light p99', hasRange: true }),
      cell(suite, 'tandem', { name: busy, metric: 'light p50' }),
      cell(suite, 'tandem', { name: busy, metric: 'light p99', hasRange: true }),
    ];
    const head = ['light call', 'alone, p50 ms', 'p99 ms', 'beside, p50 ms', 'p99 ms'];
    return markdownTable(head, [
      row('0.2 ms', 'short (0.2 ms) alone', 'short (0.2 ms) beside heavy'),
      row('2 ms', 'medium (2 ms) alone', 'medium (2 ms) beside heavy'),
      row('inline, 0.01 ms', 'inlineLight (0.01 ms) alone', 'inlineLight (0.01 ms) beside burner'),
    ]);
  },
};

/** A row for each subject. @param isRanked by the first column, the highest first; else in the order of the suite */
function bySubject(
  suite: SuiteResult,
  title: string,
  columns: readonly Column[],
  isRanked = false,
): string {
  const [first] = columns;
  const subjects = suite.subjects.filter(({ id }) => samplesOf(suite, id, first) !== undefined);
  const firstOf = (id: string): number => median(samplesOf(suite, id, first) ?? []);
  if (isRanked) subjects.sort((a, b) => firstOf(b.id) - firstOf(a.id));
  const rows = subjects.map(({ id, label }) => [
    label,
    ...columns.map((one) => cell(suite, id, one)),
  ]);
  return markdownTable([title, ...columns.map(({ head }) => head)], rows);
}

type Shown = Pick<Column, 'name' | 'metric' | 'hasRange'>;

function cell(suite: SuiteResult, subject: string, column: Shown): string {
  const samples = samplesOf(suite, subject, column);
  if (samples === undefined) return '';
  const middle = figure(median(samples));
  return column.hasRange === true ? `${middle} (${range(samples)})` : middle;
}

/** Of several tools that made the load: wrk, where it is installed, else the first. */
export function samplesOf(
  { series }: SuiteResult,
  subject: string,
  column: Shown | undefined,
): readonly number[] | undefined {
  const found = series.filter(
    (one) => one.subject === subject && one.case === column?.name && one.metric === column.metric,
  );
  return (found.find(({ tool }) => tool === 'wrk') ?? found[0])?.samples;
}
