import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { call, until } from './apps.ts';
import type { Ended } from './counts.ts';

/** Milliseconds that a call of the load takes: so some are with members at any time. */
const callMs = 20;

/** Calls of one crowd of callers that are under way at any time. */
export const lanes = 16;

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

  /** Calls at a steady pace, however long answers take, until `stop`. */
  startPaced(perSecond: number, method = 'run'): void {
    const all = async (): Promise<void> => {
      const began = performance.now();
      const open = new Set<Promise<void>>();
      for (let sent = 0; !this.#isOver; ) {
        const due = ((performance.now() - began) * perSecond) / 1000;
        for (; sent < due; sent++) {
          const one = this.#call(method);
          open.add(one);
          void one.then(() => open.delete(one));
        }
        await pause(1000 / perSecond);
      }
      await Promise.all(open);
    };
    this.#load = Promise.all([this.#load, all()]);
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
    const from = performance.now();
    const seen = await ask(this.#url, method, key);
    this.ended.push({ key, method, from, at: performance.now(), ...seen });
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
