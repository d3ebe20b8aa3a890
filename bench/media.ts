/**
 * What the suite media measured, as bench/results/media.json holds it, and what is made of that: a table of docs/benchmark.md, two
 * charts, and the picture of the README.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TopLevelSpec } from 'vega-lite';
import { withSection } from '../scripts/section.ts';
import { toSvg } from './charts.ts';
import type { Machine } from './machine.ts';
import { samplesOf } from './page.ts';
import type { Results } from './results.ts';
import { rootPath } from './root.ts';
import { median } from './statistics.ts';
import { alone, beside, media } from './suites/media.ts';
import { madeOn } from './table.ts';

/** Medians of the rounds. */
interface MediaFigures {
  readonly name: string;
  /** p99 of the light call, milliseconds, when nothing else is called. */
  readonly aloneP99: number;
  /** p50 and p99 of the light call, milliseconds, beside the thumbnails. */
  readonly p50: number;
  readonly p99: number;
  /** p99 in the lowest and in the highest round. */
  readonly p99Range: readonly [low: number, high: number];
  readonly thumbnailsPerSecond: number;
}

interface MediaResults {
  /** When the run ended, ISO 8601. */
  readonly date: string;
  readonly command: string;
  readonly rounds: number;
  readonly machine: Machine;
  readonly services: readonly MediaFigures[];
}

const file = rootPath('bench/results/media.json');

export function readMedia(): MediaResults {
  return JSON.parse(readFileSync(file, 'utf8')) as MediaResults;
}

export function writeMedia(results: MediaResults): void {
  writeFileSync(file, `${JSON.stringify(results, undefined, 1)}\n`);
}

/** The figures of a run; undefined: it did not measure that suite. */
export function mediaOf({ date, command, machine, suites }: Results): MediaResults | undefined {
  const suite = suites.find(({ name }) => name === media.name);
  if (suite === undefined) return undefined;
  const samples = (id: string, name: string, metric: string): readonly number[] =>
    samplesOf(suite, id, { name, metric }) ?? [];
  const tenths = (id: string, name: string, metric: string): number =>
    inTenths(median(samples(id, name, metric)));
  return {
    date,
    command,
    rounds: suite.series[0]?.samples.length ?? 0,
    machine,
    services: suite.subjects.map(({ id, label }) => ({
      name: label,
      aloneP99: tenths(id, alone, 'light p99'),
      p50: tenths(id, beside, 'light p50'),
      p99: tenths(id, beside, 'light p99'),
      p99Range: [
        inTenths(Math.min(...samples(id, beside, 'light p99'))),
        inTenths(Math.max(...samples(id, beside, 'light p99'))),
      ],
      thumbnailsPerSecond: tenths(id, beside, 'heavy'),
    })),
  };
}

/** Writes the charts, and the table and the picture of the pages. */
export async function publishMedia(results: MediaResults): Promise<void> {
  await writeMediaCharts(results, rootPath('bench/results'));
  const sections = {
    'README.md': mediaPicture(results, './bench/results'),
    'docs/benchmark.md': mediaSection(results),
  };
  for (const [page, section] of Object.entries(sections)) {
    const path = rootPath(page);
    writeFileSync(path, withSection(readFileSync(path, 'utf8'), 'media', section));
  }
}

function mediaTable({ services }: MediaResults): string {
  const rows = services.map((one) => {
    const { name, aloneP99, p50, p99, thumbnailsPerSecond } = one;
    const p99s = `${ms(p99)} (${rangeOf(one)})`;
    const columns = [ms(aloneP99), ms(p50), p99s, thumbnailsPerSecond.toFixed(1)];
    return `| ${name} | ${columns.join(' | ')} |`;
  });
  return [
    '| service | light call alone, p99 | beside thumbnails: p50 | p99 | thumbnails/s |',
    '|---|---|---|---|---|',
    ...rows,
  ].join('\n');
}

/** The section of docs/benchmark.md. */
export function mediaSection(results: MediaResults): string {
  const { command, date, rounds, machine } = results;
  const source = `Medians of ${rounds} rounds of \`${command}\` ${madeOn(date, machine)}: ${machine.cpu}, ${machine.cores} cores, ${machine.system}, Node ${machine.node}.`;
  return `${mediaTable(results)}\n\n${source}`;
}

/**
 * The picture of the README, with its figures in words for those who do not see it.
 *
 * @param folder of the charts, relative to the page
 */
export function mediaPicture({ services, rounds }: MediaResults, folder: string): string {
  const figures = services.map(({ name, p50, p99 }) => `${name} p50 ${ms(p50)}, p99 ${ms(p99)}`);
  return [
    '<picture>',
    `  <source media="(prefers-color-scheme: dark)" srcset="${folder}/media-dark.svg">`,
    `  <img alt="Time of a light call while four callers have 5 MB photos made small: ${figures.join('; ')}." src="${folder}/media-light.svg">`,
    '</picture>',
    '',
    `p99 in the lowest and the highest of ${rounds} rounds: ${services.map((one) => `${one.name} ${rangeOf(one)}`).join(', ')}.`,
  ].join('\n');
}

export async function writeMediaCharts(results: MediaResults, folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  for (const scheme of ['light', 'dark'] as const) {
    const svg = await toSvg(drawMedia(results, scheme));
    writeFileSync(join(folder, `media-${scheme}.svg`), svg);
  }
}

/** Each pair of colours stands out from its page: white, and the dark of GitHub and of the site. */
const colors = {
  light: { text: '#1f2328', grid: '#d8dee4', ours: '#1f6f8b', rival: '#8c959f' },
  dark: { text: '#e6edf3', grid: '#3d444d', ours: '#4cb4d6', rival: '#768390' },
} as const;

/** Letters are large: a phone shows the picture at three quarters of its size. */
const fontSize = 15;

function drawMedia({ services }: MediaResults, scheme: keyof typeof colors): TopLevelSpec {
  const { text, grid, ours, rival } = colors[scheme];
  const values = services.flatMap(({ name, p50, p99 }, index) =>
    Object.entries({ p50, p99 }).map(([percentile, value]) => ({
      name,
      percentile,
      value,
      role: index === 0 ? 'ours' : 'rival',
      label: ms(value),
    })),
  );
  const y = {
    field: 'percentile',
    type: 'nominal',
    title: null,
    axis: { domain: false, ticks: false, labelPadding: 6 },
  } as const;
  const x = { field: 'value', type: 'quantitative' } as const;
  const title = 'milliseconds, less is better';
  return {
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json',
    background: 'transparent',
    padding: 2,
    config: {
      font: 'system-ui, sans-serif',
      view: { stroke: null },
      axis: {
        labelColor: text,
        labelFontSize: fontSize,
        titleColor: text,
        titleFontSize: fontSize,
        titleFontWeight: 'normal',
      },
    },
    data: { values },
    // A service has its name above its bars: beside them it would take a phone a third of the width.
    facet: {
      row: {
        field: 'name',
        type: 'nominal',
        sort: services.map(({ name }) => name),
        title: null,
        header: {
          labelOrient: 'top',
          labelAnchor: 'start',
          labelAngle: 0,
          labelColor: text,
          labelFontSize: fontSize,
          labelFontWeight: 'bold',
          labelPadding: -6,
        },
      },
    },
    spacing: { row: 22 },
    spec: {
      width: 310,
      height: { step: 22 },
      layer: [
        {
          mark: { type: 'bar', cornerRadiusEnd: 2, height: { band: 0.85 } },
          encoding: {
            y,
            x: {
              ...x,
              title,
              axis: { gridColor: grid, domain: false, tickCount: 4, ticks: false },
            },
            color: {
              field: 'role',
              type: 'nominal',
              scale: { domain: ['ours', 'rival'], range: [ours, rival] },
              legend: null,
            },
          },
        },
        {
          mark: { type: 'text', align: 'left', dx: 6, fontSize, color: text },
          encoding: { y, x, text: { field: 'label' } },
        },
      ],
    },
  };
}

const ms = (value: number): string => `${value.toFixed(1)} ms`;

const inTenths = (value: number): number => Number(value.toFixed(1));

function rangeOf({ p99Range: [low, high] }: MediaFigures): string {
  return `${low.toFixed(1)} to ${ms(high)}`;
}
