/** What one call came to, as its caller saw it. */
export interface Ended {
  readonly key: string;
  readonly method: string;
  /** Of its error; 0: a result; undefined: there was no answer, or none that may be. */
  readonly code: number | undefined;
  readonly reason: string | undefined;
  /** The key that its result names. */
  readonly answered: string | undefined;
  /** The process that ran it. */
  readonly by: number | undefined;
  /** When it was sent and when it had ended, milliseconds of this process. */
  readonly from: number;
  readonly at: number;
}

export interface Counts {
  readonly calls: number;
  readonly results: number;
  /** By code and reason: `-32002 member`. */
  readonly errors: ReadonlyMap<string, number>;
  /** Without an answer, with one that may not be, or with a result and without a run. */
  readonly lost: number;
  /** Run more often than their answer says. */
  readonly doubled: number;
  /** With the result of another call. */
  readonly crossed: number;
  /** Of those with a result, milliseconds. */
  readonly slowestMs: number;
  /** What may not be, each in a line. */
  readonly violations: readonly string[];
}

/** Codes of calls that have not run: refused, unknown, cancelled. */
const neverRan: readonly (number | undefined)[] = [-32000, -32601, -32003];

/** Of a call whose connection ended, or whose answer is none. */
export const noAnswer = 'no answer';

/** `-32002 member`. */
function errorOf({ code, reason }: Ended): string {
  if (code === undefined) return noAnswer;
  return reason === undefined ? `${code}` : `${code} ${reason}`;
}

/**
 * Holds what callers saw against what ran.
 *
 * @param journal lines `ran <key>` of the processes that run calls
 * @param allowed errors that callers may see: `-32000`, `-32002 member`
 */
export function countsOf(
  ended: readonly Ended[],
  journal: readonly string[],
  allowed: readonly string[],
): Counts {
  const runs = new Map<string, number>();
  for (const line of journal) runs.set(line, (runs.get(line) ?? 0) + 1);
  const errors = new Map<string, number>();
  const violations: string[] = [];
  let [results, lost, doubled, crossed, slowestMs] = [0, 0, 0, 0, 0];
  for (const one of ended) {
    const { key, code } = one;
    const ran = runs.get(`ran ${key}`) ?? 0;
    const error = errorOf(one);
    if (code === 0) {
      results++;
      slowestMs = Math.max(slowestMs, one.at - one.from);
    } else errors.set(error, (errors.get(error) ?? 0) + 1);
    const isLost = code === 0 ? ran === 0 : !allowed.includes(error);
    const isDoubled = ran > (neverRan.includes(code) ? 0 : 1);
    const isCrossed = code === 0 && one.answered !== key;
    lost += Number(isLost);
    doubled += Number(isDoubled);
    crossed += Number(isCrossed);
    if (isLost || isDoubled || isCrossed) {
      const what = code === 0 ? `the result of ${one.answered}` : `${error} ${one.reason ?? ''}`;
      violations.push(`${one.method} ${key}: ${what}, ran ${ran} times`);
    }
  }
  return { calls: ended.length, results, errors, lost, doubled, crossed, slowestMs, violations };
}
