import { setTimeout as pause } from 'node:timers/promises';
import { until } from '../turns.ts';
import { call } from './apps.ts';

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
}

/** Codes of calls that have not run: refused, unknown, cancelled. */
const neverRan: readonly (number | undefined)[] = [-32000, -32601, -32003];

/** `-32000`, `-32002 member`. */
function errorOf({ code, reason }: Ended): string {
  if (code === undefined) return 'no answer';
  return code === -32002 ? `${code} ${reason}` : `${code}`;
}

/**
 * Holds what callers saw against what ran.
 *
 * @param journal lines `ran <key>` of the processes that run calls
 * @param allowed errors that callers may see: `-32000`, `-32002 member`
 * @returns what may not be, each in a line
 */
export function violationsOf(
  ended: readonly Ended[],
  journal: readonly string[],
  allowed: readonly string[],
): readonly string[] {
  const runs = new Map<string, number>();
  for (const line of journal) runs.set(line, (runs.get(line) ?? 0) + 1);
  return ended.flatMap((one) => {
    const { key, code } = one;
    const ran = runs.get(`ran ${key}`) ?? 0;
    const error = errorOf(one);
    const isLost = code === 0 ? ran === 0 : !allowed.includes(error);
    const isDoubled = ran > (neverRan.includes(code) ? 0 : 1);
    const isCrossed = code === 0 && one.answered !== key;
    if (!isLost && !isDoubled && !isCrossed) return [];
    const what = code === 0 ? `the result of ${one.answered}` : `${error} ${one.reason ?? ''}`;
    return [`${one.method} ${key}: ${what}, ran ${ran} times`];
  });
}

/** Milliseconds that a call of the load takes: so some are with members at any time. */
const callMs = 20;

/** Calls of one crowd of callers that are under way at any time. */
const lanes = 16;

interface RunResult {
  readonly key: string;
  readonly by: number;
}

/** Callers of one gateway, who write down what they saw. */
export class Callers {
  readonly ended: Ended[] = [];
  readonly #url: string;
  readonly #nextKey: () => string;
  #isOver = false;
  #load: Promise<unknown> = Promise.resolve();

  /** @param nextKey names each call, and is never the same */
  constructor(url: string, nextKey: () => string) {
    this.#url = url;
    this.#nextKey = nextKey;
  }

  /** Calls one after another in each lane, until `stop`. */
  start(method = 'run'): void {
    const one = async (): Promise<void> => {
      while (!this.#isOver) await this.#call(method);
    };
    this.#load = Promise.all([this.#load, ...Array.from({ length: lanes }, one)]);
  }

  /** Resolves when every call has its answer. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#load;
  }

  /** Resolves when so many more calls have ended, of those that are `like` it. */
  async more(count: number, like: (ended: Ended) => boolean = () => true): Promise<void> {
    const from = this.ended.length;
    await until(() => this.ended.slice(from).filter(like).length >= count);
  }

  /** Calls that ended with a code. */
  with(code: number): readonly Ended[] {
    return this.ended.filter((one) => one.code === code);
  }

  async #call(method: string): Promise<void> {
    const key = this.#nextKey();
    const seen = await ask(this.#url, method, key);
    this.ended.push({ key, method, ...seen });
    // A refusal comes at once: who asks again at once asks for nothing else.
    if (seen.code !== 0) await pause(callMs);
  }
}

/**
 * A connection of its own for each call. Where a machine is so busy that a turn of the event loop takes seconds, a connection that
 * waits for the next call has been idle for as many turns as the server allows it, and is closed under that call.
 */
const ownConnection = { connection: 'close' } as const;

type Seen = Pick<Ended, 'code' | 'reason' | 'answered' | 'by'>;

async function ask(url: string, method: string, key: string): Promise<Seen> {
  const nothing = { reason: undefined, answered: undefined, by: undefined };
  try {
    const { result, error } = await call(url, method, { key, ms: callMs }, ownConnection);
    if (error !== undefined) {
      const { reason } = (error.data ?? {}) as { reason?: string };
      return { ...nothing, code: error.code, reason };
    }
    const { key: answered, by } = result as RunResult;
    return { code: 0, reason: undefined, answered, by };
  } catch (error) {
    // fetch says why in the cause alone.
    const { cause } = error as Error;
    return { ...nothing, code: undefined, reason: `${String(error)} (${String(cause)})` };
  }
}
