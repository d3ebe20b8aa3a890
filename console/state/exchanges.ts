import { signal } from '@preact/signals';
import { useState } from 'preact/hooks';

/** One value of a stream, and when it came. */
export interface StreamValue {
  readonly number: number;
  readonly ms: number;
  /** JSON, as it came. */
  readonly text: string;
}

/** What came back, as far as it is there. */
export interface Answer {
  readonly status: number | undefined;
  readonly statusText: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly ms: number;
  /** Of the body. */
  readonly bytes: number;
  /** Of the body as it came; of a stream the last reply. */
  readonly text: string;
}

/** One request, its answer, and what is needed to send it again. */
export interface Exchange {
  readonly number: number;
  readonly at: Date;
  readonly title: string;
  readonly kind: 'call' | 'notification' | 'batch' | 'stream' | 'raw';
  /** The procedure; undefined for a batch, and for a body that was written by hand. */
  readonly method: string | undefined;
  /** The body that was sent, to the letter. */
  readonly body: string;
  readonly state: 'running' | 'done' | 'failed' | 'stopped';
  readonly answer: Answer | undefined;
  /** Why there is no answer. */
  readonly failure: string | undefined;
  /** The last values of a stream. */
  readonly values: readonly StreamValue[];
  readonly stop: (() => void) | undefined;
}

/** How many are kept, the newest first. They live in memory only. */
const maxExchanges = 100;

export const exchanges = signal<readonly Exchange[]>([]);

let lastNumber = 0;

export function addExchange(
  facts: Pick<Exchange, 'title' | 'kind' | 'method' | 'body' | 'stop'>,
): number {
  const number = ++lastNumber;
  const exchange: Exchange = {
    ...facts,
    number,
    at: new Date(),
    state: 'running',
    answer: undefined,
    failure: undefined,
    values: [],
  };
  exchanges.value = [exchange, ...exchanges.value].slice(0, maxExchanges);
  return number;
}

/** The exchange that a view has begun last, and what tells its number. */
export function useExchange(): readonly [Exchange | undefined, (number: number) => void] {
  const [number, setNumber] = useState<number>();
  return [exchanges.value.find((one) => one.number === number), setNumber];
}

export function changeExchange(number: number, change: Partial<Exchange>): void {
  exchanges.value = exchanges.value.map((one) =>
    one.number === number ? { ...one, ...change } : one,
  );
}
