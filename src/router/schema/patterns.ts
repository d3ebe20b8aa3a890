import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { messageOf } from '../../base/message-of.ts';
import { ownFile } from '../../base/package-files.ts';

/**
 * CPU time of one check; some 100 ms is usual. The checker counts no steps, it has a limit by the clock alone: on a busy
 * machine that refuses patterns which it passes on an idle one. So a check that ran out of time, but not of this, is
 * done again with twice the time.
 */
const checkCpuMs = 10_000;

/** Steps that a polynomial pattern may take per character of its longest string: 10 KB of such strings take some ms. */
const maxStepsPerCharacter = 256;

type Recheck = typeof import('recheck');
type Verdict = { readonly kind: 'safe' } | Unsafe;
type Unsafe =
  | { readonly kind: 'exponential' }
  | { readonly kind: 'polynomial'; readonly degree: number }
  | { readonly kind: 'invalid' | 'unknown'; readonly reason: string };

const checker = ownFile('src/router/schema/recheck.cts');
const verdicts = new Map<string, Verdict>();
let recheck: Recheck | undefined;
let trusted = false;

/**
 * Turns the check off in this thread. Replicas call it: the front end has checked the same schemas (their equal
 * fingerprints prove it), and each thread would load 3 MB of code for the checker at its start.
 */
export function trustPatterns(): void {
  trusted = true;
}

/**
 * Why a string of up to `maxLength` characters must not be matched against `pattern`; undefined: it may. The author of
 * the schema wrote the pattern, but a stranger chooses the string: backtracking must stay bounded.
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

/** Matches a class or a plain character that is repeated a fixed number of times. */
const exactRepeat = /(\[(?:[^\]\\]|\\.)*\]|\\[dDwWsS]|[A-Za-z0-9_ -])\{\d{1,3}\}/g;
const mostChoices = 8;

/**
 * True for a pattern without repeats of variable length and with few choices, as most patterns of a fixed form are. An
 * attempt at one place of the string takes at most as many steps as the pattern is long, for each combination of
 * choices. Such patterns need no checker, which takes half a second to load.
 */
function isBounded(pattern: string): boolean {
  const rest = pattern.replace(exactRepeat, '$1');
  return !/[*+{]/.test(rest) && (rest.match(/[?|]/g)?.length ?? 0) <= mostChoices;
}

function analyse(pattern: string): Verdict {
  try {
    new RegExp(pattern);
  } catch (error) {
    return { kind: 'invalid', reason: messageOf(error) };
  }
  if (isBounded(pattern)) return { kind: 'safe' };
  // The checker is loaded at the first pattern that needs it, since most programs have none.
  recheck ??= createRequire(import.meta.url)(fileURLToPath(checker)) as Recheck;
  const found = check(recheck, pattern);
  if (found.status === 'safe') return { kind: 'safe' };
  if (found.status === 'vulnerable') {
    return found.complexity.type === 'polynomial'
      ? { kind: 'polynomial', degree: found.complexity.degree }
      : { kind: 'exponential' };
  }
  const { error } = found;
  const message = 'message' in error ? error.message : undefined;
  return { kind: 'unknown', reason: message ?? error.kind };
}

type Diagnostics = ReturnType<Recheck['checkSync']>;
type Inconclusive = {
  readonly status: 'unknown';
  readonly error: { readonly kind: string; readonly message?: string };
};

function check({ checkSync }: Recheck, pattern: string): Diagnostics | Inconclusive {
  for (let timeout = checkCpuMs; ; timeout *= 2) {
    const before = process.cpuUsage();
    try {
      const found = checkSync(pattern, '', { timeout });
      const isLate = found.status === 'unknown' && found.error.kind === 'timeout';
      const { user, system } = process.cpuUsage(before);
      if (!isLate || user + system >= checkCpuMs * 1000) return found;
    } catch {
      // It recurses as deep as repeats stand in each other.
      return { status: 'unknown', error: { kind: 'its repeats stand too deep in each other' } };
    }
  }
}
