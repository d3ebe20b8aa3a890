import type { Options } from './options.ts';
import type { Reading } from './readings.ts';
import type { SeriesSet } from './series.ts';
import type { Subject } from './subject.ts';
import type { Target } from './targets.ts';

export interface Case {
  readonly name: string;
  /** Ids of the subjects that take part. */
  readonly subjects: readonly string[];
  /** How long one measurement of it takes, at the least. */
  readonly seconds: number;
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
