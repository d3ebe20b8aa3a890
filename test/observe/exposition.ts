/** /metrics as a scraper reads it: parsed by a library written for that, which fails on what is no such text. */
import assert from 'node:assert/strict';
import parse from 'parse-prometheus-text-format';

interface Sample {
  readonly value: string;
  readonly labels?: Readonly<Record<string, string>>;
}

interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly metrics: readonly Sample[];
}

type Labels = Readonly<Record<string, string>>;

export class Exposition {
  readonly text: string;
  readonly families: readonly Family[];
  /** By the name of each sample. The library makes one of all the series of a histogram: here it is none. */
  readonly #samples: ReadonlyMap<string, readonly Sample[]>;

  constructor(bytes: string | Uint8Array) {
    const text = typeof bytes === 'string' ? bytes : Buffer.from(bytes).toString();
    this.text = text;
    this.families = parse(text) as readonly Family[];
    const flat = parse(
      text.replace(/^(# TYPE \S+) histogram$/gm, '$1 untyped'),
    ) as readonly Family[];
    const samples = new Map<string, Sample[]>();
    for (const { name, metrics } of flat) {
      samples.set(name, [...(samples.get(name) ?? []), ...metrics]);
    }
    this.#samples = samples;
  }

  family(name: string): Family {
    const found = this.families.find((one) => one.name === name);
    assert.ok(found !== undefined, `no ${name} in:\n${this.text}`);
    return found;
  }

  /** The samples of a name that have these labels. */
  samples(name: string, labels: Labels = {}): readonly Sample[] {
    const samples = this.#samples.get(name);
    assert.ok(samples !== undefined, `no ${name} in:\n${this.text}`);
    return samples.filter((sample) =>
      Object.entries(labels).every(([key, value]) => sample.labels?.[key] === value),
    );
  }

  /** Their sum. */
  value(name: string, labels: Labels = {}): number {
    return this.samples(name, labels).reduce((sum, { value }) => sum + Number(value), 0);
  }

  /** Calls as `procedure code place`, each with its count. */
  calls(): Record<string, number> {
    const samples = this.samples('tandem_calls_total');
    return Object.fromEntries(
      samples.map(({ labels = {}, value }) => [
        `${labels.procedure} ${labels.code} ${labels.place}`,
        Number(value),
      ]),
    );
  }
}
