import { median } from './statistics.ts';

export type Limit =
  | { readonly atLeast: number; readonly unit: string }
  | { readonly atMost: number; readonly unit: string };

/** A figure that the project promises. */
export interface Target {
  readonly figure: string;
  readonly limit: Limit;
  /** What made the load, or took the time. */
  readonly tool: string;
  /** One per round. */
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

/** Targets whose samples were measured: a run that picks leaves some out. */
export function given(
  ...targets: readonly (readonly [string, Limit, string, readonly number[] | undefined])[]
): Target[] {
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

/** A NaN meets nothing. */
function isMet(measured: number, limit: Limit): boolean {
  return 'atLeast' in limit ? measured >= limit.atLeast : measured <= limit.atMost;
}
