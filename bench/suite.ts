import type { Options } from './options.ts';
import type { SeriesSet } from './series.ts';
import type { Target } from './targets.ts';

/** `ours` is what targets and comparisons judge; a `floor` does less than any server could. */
export type Role = 'ours' | 'rival' | 'floor';

/** Something that is measured beside others. */
export interface Subject {
  /** What `--against` takes. */
  readonly id: string;
  readonly label: string;
  readonly role: Role;
}

export interface Case {
  readonly name: string;
  /** Ids of the subjects that take part. */
  readonly subjects: readonly string[];
  /** How long one measurement of it takes, at the least. */
  readonly seconds: number;
}

/** One number out of one measurement. */
export interface Reading {
  readonly metric: string;
  readonly unit: string;
  readonly better: 'higher' | 'lower';
  /** What made the load, or took the time. */
  readonly tool: string;
  readonly value: number;
}

/** What a suite is going to do: known before anything starts, so that the time left can be told. */
export interface Plan {
  readonly subjects: readonly Subject[];
  readonly cases: readonly Case[];
  readonly rounds: number;
  /** Seconds it takes before the first measurement. */
  readonly openSeconds: number;
}

export interface Session {
  /** @throws where an answer was wrong: that fails the run */
  measure(subject: string, name: string, seconds: number): Promise<readonly Reading[]>;
  close(): Promise<void>;
}

export interface Suite {
  readonly name: string;
  readonly about: string;
  readonly onlyInFull?: boolean;
  plan(options: Options): Plan;
  open(plan: Plan, options: Options): Promise<Session>;
  /** The figures that have a target, as far as they were measured. */
  report(series: SeriesSet): readonly Target[];
}
