/** One number out of one measurement. */
export interface Reading {
  readonly metric: string;
  readonly unit: string;
  readonly better: 'higher' | 'lower';
  /** What made the load, or took the time. */
  readonly tool: string;
  readonly value: number;
}

/** Readings by their units; what is better follows from what is measured. */

export function rate(metric: string, tool: string, value: number): Reading {
  return { metric, unit: '/s', better: 'higher', tool, value };
}

export function milliseconds(metric: string, tool: string, value: number): Reading {
  return { metric, unit: 'ms', better: 'lower', tool, value };
}

export function microseconds(metric: string, tool: string, value: number): Reading {
  return { metric, unit: 'us', better: 'lower', tool, value };
}

export function megabytes(metric: string, tool: string, bytes: number): Reading {
  return { metric, unit: 'MB', better: 'lower', tool, value: bytes / 1024 ** 2 };
}

export function bytes(metric: string, tool: string, value: number): Reading {
  return { metric, unit: 'B', better: 'lower', tool, value };
}
