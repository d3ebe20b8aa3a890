import type { Options } from './options.ts';
import type { Reading } from './readings.ts';
import type { SeriesSet } from './series.ts';
import type { Subject } from './subject.ts';
import type { Target } from './targets.ts';

export interface Case {
  readonly name: string;
  /** Ids of the subjects that take part. */
  readonly subjects: readonly string[];
  /** How long one measurement takes at least. */
  readonly seconds: number;
}

/** What a suite will do. It is known before anything starts, so that the remaining time can be shown. */
export interface Plan {
  readonly subjects: readonly Subject[];
  readonly cases: readonly Case[];
  readonly rounds: number;
  /** Seconds before the first measurement. */
  readonly openSeconds: number;
}

export interface Session {
  /** @throws Error where an answer was wrong: that fails the run */
  measure(subject: string, name: string, seconds: number): Promise<readonly Reading[]>;
  close(): Promise<void>;
}

export interface Suite {
  readonly name: string;
  readonly about: string;
  /** It measures for so long that only its name brings it. */
  readonly onlyNamed?: boolean;
  plan(options: Options): Plan;
  open(plan: Plan, options: Options): Promise<Session>;
  /** The measured figures that have a target. */
  report(series: SeriesSet): readonly Target[];
}
