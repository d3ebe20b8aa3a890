import type { Reading } from './readings.ts';
import type { Role, Subject } from './subject.ts';

/** One measured number in all rounds of a run. */
export interface Series {
  readonly suite: string;
  readonly case: string;
  readonly subject: string;
  readonly role: Role;
  readonly metric: string;
  readonly unit: string;
  readonly better: 'higher' | 'lower';
  readonly tool: string;
  /** One sample for each round, in order. */
  readonly samples: readonly number[];
}

export function keyOf(series: Series): string {
  const { suite, case: name, subject, metric, tool } = series;
  return [suite, name, subject, metric, tool].join(' / ');
}

/** The series of one suite while it runs. */
export class SeriesSet {
  readonly #suite: string;
  readonly #byKey = new Map<string, Series & { samples: number[] }>();

  constructor(suite: string) {
    this.#suite = suite;
  }

  get all(): readonly Series[] {
    return [...this.#byKey.values()];
  }

  add(name: string, subject: Subject, reading: Reading): void {
    const { value, ...facts } = reading;
    const series = {
      suite: this.#suite,
      case: name,
      subject: subject.id,
      role: subject.role,
      ...facts,
      samples: [value],
    };
    const known = this.#byKey.get(keyOf(series));
    if (known === undefined) this.#byKey.set(keyOf(series), series);
    else known.samples.push(value);
  }

  /** The samples of a series; undefined where it was not measured. */
  samples(name: string, subject: string, metric: string, tool?: string): number[] | undefined {
    for (const series of this.#byKey.values()) {
      if (series.case !== name || series.subject !== subject || series.metric !== metric) continue;
      if (tool === undefined || series.tool === tool) return series.samples;
    }
    return undefined;
  }
}
