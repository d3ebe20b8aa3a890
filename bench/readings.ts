import type { MixedResult } from './load/mixed.ts';

/** One number of one measurement. */
export interface Reading {
  readonly metric: string;
  readonly unit: string;
  readonly better: 'higher' | 'lower';
  /** The tool that made the load or measured the time. */
  readonly tool: string;
  readonly value: number;
}

/** Makers of readings, one for each unit. The unit also decides whether more or less is better. */

export function rate(metric: string, tool: string, value: number): Reading {
  return { metric, unit: '/s', better: 'higher', tool, value };
}

export function milliseconds(metric: string, tool: string, value: number): Reading {
  return { metric, unit: 'ms', better: 'lower', tool, value };
}

export function microseconds(metric: string, tool: string, value: number): Reading {
  return { metric, unit: 'us', better: 'lower', tool, value };
}

/** How many calls were refused. */
export function refusals(metric: string, tool: string, value: number): Reading {
  return { metric, unit: 'calls', better: 'lower', tool, value };
}

export function megabytes(metric: string, tool: string, bytes: number): Reading {
  return { metric, unit: 'MB', better: 'lower', tool, value: bytes / 1024 ** 2 };
}

/** The metric of one stretch of time; `secondsAt` reads it back. */
export function metricAt(seconds: number): string {
  return `at ${Number(seconds.toFixed(2))} s`;
}

/** When a stretch of time ended, seconds; undefined: the metric is another one. */
export function secondsAt(metric: string): number | undefined {
  const text = /^at (\S+) s$/.exec(metric)?.[1];
  return text === undefined ? undefined : Number(text);
}

/** Of light calls beside heavy ones: of each kind that was sent. */
export function lightAndHeavy(tool: string, { paced, closed }: MixedResult): Reading[] {
  return [
    ...(paced === undefined
      ? []
      : [milliseconds('light p50', tool, paced.p50), milliseconds('light p99', tool, paced.p99)]),
    ...(closed === undefined ? [] : [rate('heavy', tool, closed.perSecond)]),
  ];
}
