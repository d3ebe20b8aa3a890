import type { DispatcherOptions } from '../../src/index.ts';
import type { Lifetime } from '../harness.ts';
import { fixture, Running } from './running.ts';

const modules = [fixture('procedures.ts'), fixture('costly.ts'), fixture('batches.ts')];

export interface Reply {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly data?: unknown };
}

/** A service of the batch procedures. */
export function started(t: Lifetime, options: DispatcherOptions = {}): Promise<Running> {
  return Running.start(t, { modules, ...options });
}

/** Calls that come in one turn of the event loop. */
export async function all(running: Running, method: string, count: number): Promise<Reply[]> {
  const { file } = running.journal;
  const calls = Array.from({ length: count }, (_, id) =>
    running.dispatcher.dispatch({ method, params: { file, text: `${id}` }, id }),
  );
  return (await Promise.all(calls)) as Reply[];
}

export const results = (replies: readonly Reply[]): unknown[] =>
  replies.map(({ result }) => result);
