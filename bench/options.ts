import { parseArgs } from 'node:util';

export interface Options {
  /** Names of suites; empty: all. */
  readonly only: readonly string[];
  /** Ids of rivals; empty: all. */
  readonly against: readonly string[];
  /** Seconds of one measurement, in place of each suite's own. */
  readonly duration: number | undefined;
  readonly rounds: number | undefined;
  readonly full: boolean;
  /** The folder of the results, in place of bench/results. */
  readonly results: string | undefined;
}

/** @param suites the names of all suites */
export function helpOf(suites: readonly string[]): string {
  return `npm run bench -- [options]

  --only http,hop            suites: ${suites.join(', ')}
  --against fastify,jayson   rivals; ours and the floors always run
  --duration 5               seconds of one measurement
  --rounds 7                 rounds, in place of each suite's own
  --full                     longer measurements, more cases, the siege, the soak (npm run bench:full)
  --results folder           where the results go
`;
}

/** @throws Error, one line, for an unknown or invalid option */
export function parseOptions(args: readonly string[]): Options | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string' },
      against: { type: 'string' },
      duration: { type: 'string' },
      rounds: { type: 'string' },
      results: { type: 'string' },
      full: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help === true) return 'help';
  const rounds = number('rounds', values.rounds);
  if (rounds !== undefined && !Number.isInteger(rounds)) {
    throw new Error(`--rounds is a whole number, not ${values.rounds}`);
  }
  return {
    only: list(values.only),
    against: list(values.against),
    duration: number('duration', values.duration),
    rounds,
    full: values.full ?? false,
    results: values.results,
  };
}

/** Whether a run measures everything, so that its results may be published as the project's. */
export function isWhole({ only, against, duration, rounds }: Options): boolean {
  return only.length + against.length === 0 && duration === undefined && rounds === undefined;
}

/** @throws Error for a name that is not known */
export function assertKnown(
  what: string,
  names: readonly string[],
  known: readonly string[],
): void {
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length === 0) return;
  throw new Error(`no such ${what}: ${unknown.join(', ')}; there are ${known.join(', ')}`);
}

function list(value: string | undefined): string[] {
  return (value ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

function number(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() === '' || !(value > 0) || !Number.isFinite(value)) {
    throw new Error(`--${name} is a number above 0, not ${text}`);
  }
  return value;
}
