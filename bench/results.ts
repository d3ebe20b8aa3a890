import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Machine } from './machine.ts';
import type { Series } from './series.ts';
import type { Subject } from './subject.ts';
import type { Target } from './targets.ts';

export interface SuiteResult {
  readonly name: string;
  readonly about: string;
  readonly subjects: readonly Subject[];
  readonly series: readonly Series[];
}

/** All results of one run, as a results file holds them. */
export interface Results {
  /** When the run ended, ISO 8601. */
  readonly date: string;
  /** The command that made the run. */
  readonly command: string;
  readonly seconds: number;
  readonly machine: Machine;
  readonly suites: readonly SuiteResult[];
  readonly targets: readonly Target[];
  /** A line for each suite that failed, whose figures are missing. */
  readonly failures: readonly string[];
}

/** @throws Error, one line, where the file is missing or holds something else */
export function readResults(path: string): Results {
  const value = JSON.parse(readFileSync(path, 'utf8')) as Partial<Results>;
  if (!Array.isArray(value.suites) || !Array.isArray(value.targets)) {
    throw new Error(`${path} holds no results of the benchmark`);
  }
  return value as Results;
}

export function writeResults(path: string, results: Results): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(results, rounded, 1)}\n`);
}

/** Rounds to six figures, which is more than any measurement has. */
function rounded(_key: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isInteger(value)
    ? Number(value.toPrecision(6))
    : value;
}
