import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { chartNames } from './charts.ts';
import type { Machine } from './machine.ts';
import type { Results, SuiteResult } from './results.ts';
import { suiteTables, targetsTable } from './table.ts';

const startMarker = '<!-- bench:start -->';
const endMarker = '<!-- bench:end -->';

/** Puts a text between the markers of a page; undefined: the page has no markers. */
export function withSection(page: string, section: string): string | undefined {
  const start = page.indexOf(startMarker);
  const end = page.indexOf(endMarker);
  if (start === -1 || end < start) return undefined;
  return `${page.slice(0, start + startMarker.length)}\n\n${section}\n\n${page.slice(end)}`;
}

/** The section for a README: the most important charts, the targets, and how to measure them again. */
export function shortSection(results: Results, folder: string): string {
  const parts = [
    chart(
      folder,
      'http',
      'Requests per second over HTTP, as shares of the raw uWebSockets.js floor',
    ),
    ...results.suites.filter(({ name }) => name === 'http').map(poolsTable),
    chart(folder, 'isolation', 'p99 of a light call, alone and beside heavy calls'),
    ...results.suites
      .filter(({ name }) => name === 'mixture')
      .map(() =>
        chart(
          folder,
          'mixture',
          'A light call while heavy callers come, with and without the lane',
        ),
      ),
    targetsTable(results.targets),
    source(results),
  ];
  return parts.join('\n\n');
}

const poolSubjects = new Set([
  'uws-floor',
  'tandem',
  'tandem-pooled',
  'uws-piscina-text',
  'uws-piscina',
  'fastify-piscina',
]);
const poolMetrics = new Set(['requests', 'p99', 'cpu', 'main cpu']);

/** A tiny call that runs in a worker thread: ours, the rivals with a pool, and what a call costs without one. */
function poolsTable(http: SuiteResult): string {
  const tool = http.series.some((one) => one.tool === 'wrk') ? 'wrk' : 'autocannon';
  const series = http.series.filter(
    (one) =>
      one.case === '64 connections' &&
      one.tool === tool &&
      poolSubjects.has(one.subject) &&
      poolMetrics.has(one.metric),
  );
  return suiteTables({ ...http, series });
}

/** The section for the page on the benchmark: everything. */
export function longSection(results: Results, folder: string): string {
  const suites = results.suites.map((suite) => {
    const charts = chartNames(suite.name).map((name) =>
      chart(folder, name, `${suite.name}: ${name}`),
    );
    return [`### ${suite.name}`, suite.about, ...charts, suiteTables(suite)].join('\n\n');
  });
  const targets = `### Targets\n\n${targetsTable(results.targets)}`;
  return [source(results), machineText(results.machine), targets, ...suites].join('\n\n');
}

/** Writes the sections into the pages that have markers. Returns the pages that changed. */
export function writePages(pages: readonly (readonly [path: string, section: string])[]): string[] {
  return pages.flatMap(([path, section]) => {
    const page = existsSync(path) ? readFileSync(path, 'utf8') : '';
    const changed = withSection(page, section);
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
