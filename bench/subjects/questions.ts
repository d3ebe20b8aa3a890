import type { Question } from '../load/probe.ts';
import { batchSize, firstId, operands, replyTo } from './fixed.ts';
import { burn } from './work.ts';

/** The form of a server's requests. */
export type Dialect = 'fixed' | 'json-rpc' | 'routes' | 'orpc' | 'trpc';

export interface Asked {
  readonly path: string;
  readonly questions: readonly Question[];
}

/** How many distinct requests of one kind there are. The load sends them in turn. */
const variety = 32;

export function addCalls(dialect: Dialect, method: string): Asked {
  const numbers = Array.from({ length: variety }, (_, n) => n);
  switch (dialect) {
    case 'fixed':
      return { path: '/', questions: numbers.map((n) => ask(call(n, method), replyTo(0))) };
    case 'json-rpc':
      return { path: '/rpc', questions: numbers.map((n) => ask(call(n, method), replyTo(n))) };
    case 'routes':
      return {
        path: `/${method}`,
        questions: numbers.map((n) => ask(call(n, method), replyTo(n))),
      };
    case 'orpc': {
      const questions = numbers.map((n) => ask({ json: operands(n) }, { json: replyTo(n).result }));
      return { path: `/rpc/${method}`, questions };
    }
    case 'trpc': {
      const questions = numbers.map((n) =>
        ask(operands(n), { result: { data: replyTo(n).result } }),
      );
      return { path: `/${method}`, questions };
    }
  }
}

/** Batches of `batchSize` calls; undefined where the dialect has no batches. */
export function batchCalls(dialect: Dialect, method: string): Asked | undefined {
  const starts = dialect === 'fixed' ? [0] : [0, 1, 2, 3].map((n) => n * batchSize);
  const numbers = starts.map((start) => Array.from({ length: batchSize }, (_, i) => start + i));
  const body = (batch: number[]): unknown => batch.map((n) => call(n, method));
  const replies = (batch: number[]): unknown => batch.map(replyTo);
  const questions = numbers.map((batch) => ask(body(batch), replies(batch)));
  switch (dialect) {
    case 'fixed':
      return { path: '/batch', questions };
    case 'json-rpc':
      return { path: '/rpc', questions };
    case 'routes':
      return { path: `/${method}/batch`, questions };
    case 'trpc': {
      const path = `/${Array.from({ length: batchSize }, () => method).join(',')}?batch=1`;
      const inputs = (batch: number[]) => Object.fromEntries(batch.map((n, i) => [i, operands(n)]));
      const results = (batch: number[]) =>
        batch.map((n) => ({ result: { data: replyTo(n).result } }));
      return { path, questions: numbers.map((batch) => ask(inputs(batch), results(batch))) };
    }
    case 'orpc':
      return undefined;
  }
}

/** Calls of `burn`, or of another procedure that does the same work, with `steps` steps. */
export function burnCalls(dialect: 'json-rpc' | 'routes', steps: number, method = 'burn'): Asked {
  const result = burn({ steps });
  const questions = Array.from({ length: 8 }, (_, n) =>
    ask(
      { jsonrpc: '2.0', id: firstId + n, method, params: { steps } },
      { jsonrpc: '2.0', id: firstId + n, result },
    ),
  );
  return { path: dialect === 'routes' ? `/${method}` : '/rpc', questions };
}

function call(n: number, method: string): unknown {
  return { jsonrpc: '2.0', id: firstId + n, method, params: operands(n) };
}

function ask(body: unknown, expected: unknown): Question {
  return { body: JSON.stringify(body), expected };
}
