import type { TopLevelSpec } from 'vega-lite';
import { comparableOf } from './floors.ts';
import { secondsAt } from './readings.ts';
import type { SuiteResult } from './results.ts';
import type { Series } from './series.ts';
import { median } from './statistics.ts';

const ours = '#1f6f8b';
const rival = '#b8b8b8';

const base = {
  $schema: 'https://vega.github.io/schema/vega-lite/v6.json',
  background: 'white',
  config: { font: 'sans-serif', view: { stroke: null } },
} as const;

function labelOf({ subjects }: SuiteResult, series: Series): string {
  return subjects.find(({ id }) => id === series.subject)?.label ?? series.subject;
}

const roleColor = {
  field: 'role',
  type: 'nominal',
  scale: { domain: ['ours', 'rival'], range: [ours, rival] },
  legend: null,
} as const;

export function drawHttp(suite: SuiteResult): TopLevelSpec | undefined {
  const tool = suite.series.some((one) => one.tool === 'wrk') ? 'wrk' : 'autocannon';
  const values = suite.series.flatMap((series) => {
    const { case: name, metric, role } = series;
    if (name !== '64 connections' || metric !== 'requests' || series.tool !== tool) return [];
    const shares = comparableOf(series, suite.series);
    return shares === undefined
      ? []
      : [{ label: labelOf(suite, series), role, share: median(shares), ...ends(shares) }];
  });
  if (values.length === 0) return undefined;
  values.sort((a, b) => b.share - a.share);
  const sort = values.map(({ label }) => label);
  const y = {
    field: 'label',
    type: 'nominal',
    sort,
    title: null,
    axis: { labelLimit: 260 },
  } as const;
  const title = `requests/s over HTTP, 64 connections, ${tool}: share of raw uWebSockets.js`;
  return {
    ...base,
    data: { values },
    width: 460,
    height: { step: 24 },
    title: { text: title, anchor: 'start' },
    layer: [
      {
        mark: 'bar',
        encoding: { y, x: { field: 'share', type: 'quantitative', title: null }, color: roleColor },
      },
      {
        mark: { type: 'rule' },
        encoding: { y, x: { field: 'low', type: 'quantitative' }, x2: { field: 'high' } },
      },
      {
        mark: { type: 'text', align: 'left', dx: 12 },
        encoding: {
          y,
          x: { field: 'high', type: 'quantitative' },
          text: { field: 'share', type: 'quantitative', format: '.2f' },
        },
      },
    ],
  };
}

export function drawIsolation(suite: SuiteResult): TopLevelSpec | undefined {
  const values = suite.series
    .filter(({ metric, case: name }) => metric === 'light p99' && name !== 'heavy alone')
    .map((series) => ({
      label: labelOf(suite, series),
      when: series.case === 'light alone' ? 'alone' : 'beside heavy calls',
      p99: median(series.samples),
    }));
  if (values.length === 0) return undefined;
  return {
    ...base,
    data: { values },
    width: 460,
    height: { step: 30 },
    title: { text: 'p99 of a light call, milliseconds, logarithmic', anchor: 'start' },
    mark: { type: 'point', filled: true, size: 90, opacity: 1 },
    encoding: {
      y: { field: 'label', type: 'nominal', sort: null, title: null, axis: { labelLimit: 300 } },
      x: { field: 'p99', type: 'quantitative', scale: { type: 'log' }, title: null },
      color: {
        field: 'when',
        type: 'nominal',
        title: null,
        scale: { domain: ['alone', 'beside heavy calls'], range: [rival, '#c0392b'] },
        legend: { orient: 'bottom' },
      },
    },
  };
}

/** p99 with one slow member, by the way in which members are chosen. */
export function drawRouting(suite: SuiteResult): TopLevelSpec | undefined {
  const values = suite.series
    .filter(({ metric, case: name }) => metric === 'p99' && name.includes('slower'))
    .map((series) => ({
      label: labelOf(suite, series),
      role: series.role,
      p99: median(series.samples),
      ...ends(series.samples),
    }));
  if (values.length === 0) return undefined;
  const y = {
    field: 'label',
    type: 'nominal',
    sort: null,
    title: null,
    axis: { labelLimit: 300 },
  } as const;
  const scale = { type: 'log' } as const;
  return {
    ...base,
    data: { values },
    width: 460,
    height: { step: 30 },
    title: {
      text: 'p99 of a call with one of two members 3 times slower, ms, logarithmic',
      anchor: 'start',
    },
    layer: [
      {
        mark: { type: 'point', filled: true, size: 90, opacity: 1 },
        encoding: {
          y,
          x: { field: 'p99', type: 'quantitative', scale, title: null },
          color: roleColor,
        },
      },
      {
        mark: { type: 'rule' },
        encoding: { y, x: { field: 'low', type: 'quantitative', scale }, x2: { field: 'high' } },
      },
    ],
  };
}

export function drawHop(suite: SuiteResult): TopLevelSpec | undefined {
  const values = suite.series
    .filter(({ metric }) => metric === 'calls')
    .map((series) => ({
      label: labelOf(suite, series),
      inFlight: Number.parseInt(series.case, 10),
      calls: median(series.samples),
    }));
  return lines(values, {
    title: 'calls/s to one worker thread and back, by calls in flight',
    x: 'inFlight',
    y: 'calls',
    logX: true,
  });
}

/** Stretches of time, named by their ends. */
export function drawMixture(suite: SuiteResult): TopLevelSpec | undefined {
  const values = suite.series.flatMap((series) => {
    const seconds = secondsAt(series.metric);
    if (seconds === undefined) return [];
    return [{ label: labelOf(suite, series), seconds, ms: median(series.samples) }];
  });
  return lines(values, {
    title: 'p50 of a call of 0.2 ms over seconds, ms, as four callers of 300 ms come from 1 s on',
    x: 'seconds',
    y: 'ms',
    logX: false,
    logY: true,
  });
}

function lines(
  values: readonly object[],
  {
    title,
    x,
    y,
    logX,
    logY = false,
  }: { title: string; x: string; y: string; logX: boolean; logY?: boolean },
): TopLevelSpec | undefined {
  if (values.length === 0) return undefined;
  const scale = (isLog: boolean) =>
    isLog ? ({ type: 'log' } as const) : ({ zero: true } as const);
  return {
    ...base,
    data: { values: values as Record<string, unknown>[] },
    width: 460,
    height: 260,
    title: { text: title, anchor: 'start' },
    mark: { type: 'line', point: true },
    encoding: {
      x: { field: x, type: 'quantitative', scale: scale(logX), title: null, axis: { grid: false } },
      y: { field: y, type: 'quantitative', scale: scale(logY), title: null },
      color: { field: 'label', type: 'nominal', title: null },
    },
  };
}

function ends(values: readonly number[]): { low: number; high: number } {
  return { low: Math.min(...values), high: Math.max(...values) };
}
