import { comparableOf } from './floors.ts';
import { keyed } from './grouping.ts';
import type { Machine } from './machine.ts';
import type { Results, SuiteResult } from './results.ts';
import type { Series } from './series.ts';
import { median } from './statistics.ts';
import type { Limit, Target } from './targets.ts';

export function markdownTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(escapeCell).join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}

function targetsTable(targets: readonly Target[]): string {
  const rows = targets.map(({ figure: name, limit, tool, measured, samples, met }) => [
    name,
    limitText(limit),
    measuredText({ limit, measured, samples }),
    met ? 'yes' : '**no**',
    tool,
  ]);
  return markdownTable(
    ['figure', 'target', 'measured (lowest to highest round)', 'met', 'load'],
    rows,
  );
}

/** All that a run has measured, as Markdown. */
export function report({ command, date, seconds, machine, suites, targets }: Results): string {
  const source = `\`${command.trim()}\` (${seconds} s) ${madeOn(date, machine)}.`;
  const sections = suites.map(
    (suite) => `## ${suite.name}\n\n${suite.about}\n\n${suiteTables(suite)}`,
  );
  const first = [source, machineText(machine), `## Targets\n\n${targetsTable(targets)}`];
  return [...first, ...sections].join('\n\n');
}

/** The day and the commit of a run. @param date ISO 8601 */
export function madeOn(date: string, { commit, modified }: Machine): string {
  return `on ${date.slice(0, 10)}, commit ${commit}${modified ? ', with changes' : ''}`;
}

export function machineText({
  cpu,
  cores,
  memoryGb,
  system,
  node,
  load,
  versions,
}: Machine): string {
  const list = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return `${cpu}, ${cores} cores, ${memoryGb} GB, ${system}, Node ${node}. Load average before and after: ${load.join(', ')}. ${list.join(', ')}.`;
}

/** One table for each case and tool: a row for each subject, a column for each metric, medians over the rounds. */
function suiteTables({ subjects, series }: SuiteResult): string {
  const label = new Map(subjects.map(({ id, label }) => [id, label]));
  const blocks = keyed(series, (one) => `${one.case}, load by ${one.tool}`);
  const texts = [...blocks].map(([title, block]) => {
    const metrics = [...keyed(block, ({ metric, unit }) => `${metric}, ${unit}`)];
    const hasFloor = block.some((one) => comparableOf(one, block) !== undefined);
    const bySubject = keyed(block, ({ subject }) => subject);
    const rows = [...bySubject].map(([subject, own]) => [
      label.get(subject) ?? subject,
      ...metrics.map(([, columns]) => cellOf(own, columns)),
      ...(hasFloor ? [ratioText(own[0] as Series, block)] : []),
    ]);
    const heads = [...metrics.map(([head]) => head), ...(hasFloor ? ['of the floor'] : [])];
    return `**${title}**\n\n${markdownTable(['', ...heads], rows)}`;
  });
  return texts.join('\n\n');
}

/** A number with three figures: rounds differ in the second or the third. */
export function figure(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (Math.abs(value) >= 1000) return Math.round(Number(value.toPrecision(3))).toLocaleString('en');
  return String(Number(value.toPrecision(3)));
}

export function limitText(limit: Limit): string {
  const [word, value] =
    'atLeast' in limit
      ? (['at least', limit.atLeast] as const)
      : (['at most', limit.atMost] as const);
  return `${word} ${withUnit(String(value), limit.unit)}`;
}

/** The median of the rounds, with the lowest and the highest. */
export function measuredText({
  limit,
  measured,
  samples,
}: Pick<Target, 'limit' | 'measured' | 'samples'>): string {
  return `${withUnit(figure(measured), limit.unit)} (${range(samples)})`;
}

function withUnit(text: string, unit: string): string {
  if (unit === '') return text;
  return unit === 'x' ? `${text}×` : `${text} ${unit}`;
}

/** The lowest and the highest round. */
export function range(samples: readonly number[]): string {
  return `${figure(Math.min(...samples))} to ${figure(Math.max(...samples))}`;
}

function cellOf(own: readonly Series[], columns: readonly Series[]): string {
  const series = own.find((one) => columns.includes(one));
  return series === undefined ? '' : figure(median(series.samples));
}

function ratioText(series: Series, block: readonly Series[]): string {
  if (series.role === 'floor') return '1';
  const ratios = comparableOf(series, block);
  return ratios === undefined ? '' : `${figure(median(ratios))} (${range(ratios)})`;
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|');
}
