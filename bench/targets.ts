import { median } from './statistics.ts';

export type Limit =
  | { readonly atLeast: number; readonly unit: string }
  | { readonly atMost: number; readonly unit: string };

/** A figure that the project promises. */
export interface Target {
  readonly figure: string;
  readonly limit: Limit;
  /** The tool that made the load or measured the time. */
  readonly tool: string;
  /** One sample for each round. */
  readonly samples: readonly number[];
  readonly measured: number;
  readonly met: boolean;
}

export function target(
  figure: string,
  limit: Limit,
  tool: string,
  samples: readonly number[],
): Target {
  const measured = median(samples);
  return { figure, limit, tool, samples, measured, met: isMet(measured, limit) };
}

/** A figure, its limit, its tool, and its samples; undefined: it was not measured. */
export type Given = readonly [string, Limit, string, readonly number[] | undefined];

/** The targets whose samples were measured: a run with --only leaves others out. */
export function given(...targets: readonly Given[]): Target[] {
  return targets.flatMap(([figure, limit, tool, samples]) =>
    samples === undefined || samples.length === 0 ? [] : [target(figure, limit, tool, samples)],
  );
}

export function atLeast(value: number, unit = 'x'): Limit {
  return { atLeast: value, unit };
}

export function atMost(value: number, unit = 'x'): Limit {
  return { atMost: value, unit };
}

/** Whether the figure meets its limit. NaN never does. */
function isMet(measured: number, limit: Limit): boolean {
  return 'atLeast' in limit ? measured >= limit.atLeast : measured <= limit.atMost;
}
