import { performance } from 'node:perf_hooks';
import { createClient, RpcError } from '../../../src/client/index.ts';
import { sse } from '../../../src/client/sse.ts';
import { until } from '../../turns.ts';
import type { Ended } from '../callers.ts';

interface Counted {
  readonly key: string;
  readonly i: number;
}

interface Contract {
  count: {
    readonly params: { readonly key: string; readonly ms: number; readonly values: number };
    readonly result: { readonly key: string; readonly by: number };
    readonly yields: Counted;
  };
}

/** Milliseconds between two values. */
const paceMs = 10;

/** Readers of streams over server-sent events, who hold each value against the one that is due. */
export class StreamReaders {
  readonly ended: Ended[] = [];
  /** When the last value came, milliseconds of this process. */
  valueAt = 0;
  readonly #url: string;
  readonly #nextKey: () => string;
  readonly #values: number;
  readonly #read = new Map<string, number>();
  #all: Promise<unknown> = Promise.resolve();

  /** @param values of each stream */
  constructor(url: string, nextKey: () => string, values: number) {
    this.#url = url;
    this.#nextKey = nextKey;
    this.#values = values;
  }

  /** Opens so many streams. Resolves when each has given some values. */
  async start(count: number): Promise<void> {
    this.#all = Promise.all(Array.from({ length: count }, () => this.#readOne()));
    const isUnderWay = (): boolean => [...this.#read.values()].every((values) => values > 5);
    await until(() => this.#read.size === count && isUnderWay());
  }

  /** Resolves when all have ended. */
  async done(): Promise<void> {
    await this.#all;
  }

  async #readOne(): Promise<void> {
    const key = this.#nextKey();
    const from = performance.now();
    const add = (one: Pick<Ended, 'code' | 'reason' | 'answered' | 'by'>): void => {
      this.ended.push({ key, method: 'count', from, at: performance.now(), ...one });
    };
    this.#read.set(key, 0);
    const client = createClient<Contract>({ url: this.#url, streams: sse() });
    const params = { key, ms: paceMs, values: this.#values };
    const stream = client.count(params)[Symbol.asyncIterator]();
    try {
      for (let due = 0; ; due++) {
        const step = await stream.next();
        if (step.done === true) {
          const { key: named, by } = step.value;
          const answered = due === this.#values ? named : `${named}, ended before value ${due}`;
          add({ code: 0, reason: undefined, answered, by });
          return;
        }
        const { key: of, i } = step.value;
        this.valueAt = performance.now();
        this.#read.set(key, due + 1);
        if (of === key && i === due) continue;
        const answered = `${of}, value ${i} where ${due} was due`;
        add({ code: 0, reason: undefined, answered, by: undefined });
        return;
      }
    } catch (error) {
      const isError = error instanceof RpcError;
      const { reason } = (isError ? (error.data ?? {}) : {}) as { reason?: string };
      const code = isError ? error.code : undefined;
      add({
        code,
        reason: reason ?? (isError ? undefined : String(error)),
        answered: undefined,
        by: undefined,
      });
    }
  }
}
