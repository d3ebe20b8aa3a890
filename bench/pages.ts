import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { chartNames } from './charts.ts';
import type { Machine } from './machine.ts';
import type { Results } from './results.ts';
import { suiteTables, targetsTable } from './table.ts';

/** Puts a text between `<!-- NAME:start -->` and `<!-- NAME:end -->` of a page; undefined: the page has no such markers. */
export function withSection(page: string, name: string, section: string): string | undefined {
  const startMarker = `<!-- ${name}:start -->`;
  const start = page.indexOf(startMarker);
  const end = page.indexOf(`<!-- ${name}:end -->`);
  if (start === -1 || end < start) return undefined;
  return `${page.slice(0, start + startMarker.length)}\n\n${section}\n\n${page.slice(end)}`;
}

/** The figures that the page on the benchmark shows first, each beside its rival. */
export const shownFigures: readonly string[] = [
  'inline add over jayson, requests/s at 64 connections',
  'inline add over fastify, requests/s at 64 connections',
  'inline add over tRPC, requests/s at 64 connections',
  'pooled add over uWS + piscina, requests/s at 64 connections',
  'pooled add over fastify + piscina, requests/s at 64 connections',
  'light p99 under saturation over unloaded, workers = cores - 1',
];

/** The first section of the page on the benchmark: six figures. */
export function shortSection(results: Results): string {
  const shown = results.targets.filter(({ figure }) => shownFigures.includes(figure));
  return [targetsTable(shown), source(results)].join('\n\n');
}

/** The last section of that page: everything. */
export function longSection(results: Results, folder: string): string {
  const suites = results.suites.map((suite) => {
    const charts = chartNames(suite).map((name) => chart(folder, name, `${suite.name}: ${name}`));
    return [`### ${suite.name}`, suite.about, ...charts, suiteTables(suite)].join('\n\n');
  });
  const targets = `### Targets\n\n${targetsTable(results.targets)}`;
  return [source(results), machineText(results.machine), targets, ...suites].join('\n\n');
}

/** Writes the sections into the pages that have markers. Returns the pages that changed. */
export function writePages(
  sections: readonly (readonly [path: string, name: string, section: string])[],
): string[] {
  return sections.flatMap(([path, name, section]) => {
    const page = existsSync(path) ? readFileSync(path, 'utf8') : '';
    const changed = withSection(page, name, section);
    if (changed === undefined || changed === page) return [];
    writeFileSync(path, changed);
    return [path];
  });
}

function chart(folder: string, name: string, alt: string): string {
  return `![${alt}](${folder}/${name}.svg)`;
}

function source({ command, date, machine, seconds }: Results): string {
  const changed = machine.modified ? ', with changes' : '';
  return `Written by \`${command.trim()}\` (${seconds} s) on ${date.slice(0, 10)}, commit ${machine.commit}${changed}.`;
}

function machineText({ cpu, cores, memoryGb, system, node, load, versions }: Machine): string {
  const list = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return `${cpu}, ${cores} cores, ${memoryGb} GB, ${system}, Node ${node}. Load average before and after: ${load.join(', ')}. ${list.join(', ')}.`;
}
