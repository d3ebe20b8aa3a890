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
  /** Two results files to compare, instead of a run. */
  readonly compare: readonly [old: string, new: string] | undefined;
  /** Nothing is measured: pictures and tables are made again of the last whole run. */
  readonly draw: boolean;
}

/** @param suites the names of all suites */
export function helpOf(suites: readonly string[]): string {
  return `npm run bench -- [options]

  --only http,hop            suites: ${suites.join(', ')}
  --against fastify,jayson   rivals; ours and the floors always run
  --duration 5               seconds of one measurement
  --rounds 7                 rounds, in place of each suite's own
  --full                     longer measurements, more cases
  --results folder           where the results go

Without measuring:

  --compare OLD.json NEW.json   prints what changed; exits with 1 if Tandem got worse
  --draw                        the pictures and tables of the pages, from bench/results
`;
}

/** @throws Error, one line, for an unknown or invalid option */
export function parseOptions(args: readonly string[]): Options | 'help' {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      only: { type: 'string' },
      against: { type: 'string' },
      duration: { type: 'string' },
      rounds: { type: 'string' },
      results: { type: 'string' },
      full: { type: 'boolean' },
      compare: { type: 'boolean' },
      draw: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help === true) return 'help';
  const [old, now, ...more] = positionals;
  const isPair = old !== undefined && now !== undefined && more.length === 0;
  if (values.compare === true ? !isPair : positionals.length > 0) {
    throw new Error('files are for --compare OLD.json NEW.json, which takes two');
  }
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
    compare: isPair ? [old, now] : undefined,
    draw: values.draw ?? false,
  };
}

/** Whether a run measures its suites as usual, so that its figures may be published as the project's. */
export function isUsual({ against, duration, rounds, results }: Options): boolean {
  return against.length === 0 && [duration, rounds, results].every((one) => one === undefined);
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
