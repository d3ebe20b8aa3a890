import { createRequire } from 'node:module';

/** Long enough for any pattern a person writes; a few milliseconds is usual. */
const checkTimeoutMs = 5_000;

/** Steps a polynomial pattern may take for each character of the longest string it can get: 10 KB of such strings take some ms. */
const maxStepsPerCharacter = 256;

type Recheck = typeof import('recheck');
type Verdict = { readonly kind: 'safe' } | Unsafe;
type Unsafe =
  | { readonly kind: 'exponential' }
  | { readonly kind: 'polynomial'; readonly degree: number }
  | { readonly kind: 'invalid' | 'unknown'; readonly reason: string };

const verdicts = new Map<string, Verdict>();
let recheck: Recheck | undefined;
let trusted = false;

/**
 * Leaves out the check in this thread. For a replica: the front end has verified the same schemas, which
 * the fingerprint proves, and the checker is 3 MB of code to load at each start of a thread.
 */
export function trustPatterns(): void {
  trusted = true;
}

/**
 * Why a string of up to `maxLength` must not be matched against `pattern`, undefined when it may.
 * A pattern of the schema's author, on a string of a stranger's choice: backtracking must stay bounded.
 */
export function patternFault(
  pattern: string,
  maxLength = Number.POSITIVE_INFINITY,
): string | undefined {
  if (trusted) return undefined;
  const verdict = verdictOf(pattern);
  switch (verdict.kind) {
    case 'safe':
      return undefined;
    case 'invalid':
      return `is no regular expression: ${verdict.reason}`;
    case 'unknown':
      return `could not be shown to be free of catastrophic backtracking (${verdict.reason}); simplify it, or set a format of your own with FormatRegistry`;
    case 'exponential':
      return 'takes exponential time on some strings; rewrite it without nested or overlapping repeats';
    case 'polynomial': {
      const longest = Math.floor(maxStepsPerCharacter ** (1 / (verdict.degree - 1)));
      return maxLength <= longest
        ? undefined
        : `takes polynomial time (degree ${verdict.degree}) on some strings; anchor it with ^, rewrite it without overlapping repeats, or give the string a maxLength of at most ${longest}`;
    }
  }
}

function verdictOf(pattern: string): Verdict {
  let verdict = verdicts.get(pattern);
  if (verdict === undefined) {
    verdict = analyse(pattern);
    verdicts.set(pattern, verdict);
  }
  return verdict;
}

/** A class or a plain character, exactly so many times. */
const exactRepeat = /(\[(?:[^\]\\]|\\.)*\]|\\[dDwWsS]|[A-Za-z0-9_ -])\{\d{1,3}\}/g;
const mostChoices = 8;

/**
 * True for a pattern without repeats, which most are that have a fixed form: however long the string, an
 * attempt at one place ends after as many steps as the pattern is long, for each way to choose. Loading the
 * checker to find that out takes half a second.
 */
function isBounded(pattern: string): boolean {
  const rest = pattern.replace(exactRepeat, '$1');
  return !/[*+{]/.test(rest) && (rest.match(/[?|]/g)?.length ?? 0) <= mostChoices;
}

function analyse(pattern: string): Verdict {
  try {
    new RegExp(pattern);
  } catch (error) {
    return { kind: 'invalid', reason: error instanceof Error ? error.message : String(error) };
  }
  if (isBounded(pattern)) return { kind: 'safe' };
  // The browser build is the pure JavaScript one: the main build would start a thread, or Java, to answer
  // synchronously. Loaded on demand, since most programs have no pattern.
  recheck ??= createRequire(import.meta.url)('recheck/lib/browser.js') as Recheck;
  const found = recheck.checkSync(pattern, '', { timeout: checkTimeoutMs });
  if (found.status === 'safe') return { kind: 'safe' };
  if (found.status === 'vulnerable') {
    return found.complexity.type === 'polynomial'
      ? { kind: 'polynomial', degree: found.complexity.degree }
      : { kind: 'exponential' };
  }
  const { error } = found;
  return { kind: 'unknown', reason: 'message' in error ? error.message : error.kind };
}
