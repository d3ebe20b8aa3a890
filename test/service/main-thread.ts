import assert from 'node:assert/strict';
import { threadId } from 'node:worker_threads';
import type { Dispatcher, DispatcherOptions } from '../../src/index.ts';
import type { Lifetime, LogLine } from '../harness.ts';
import { turns } from '../turns.ts';
import { fixture, Running } from './running.ts';

/** Calls a procedure that returns the thread it ended on. @returns that thread, when the watch has told what it found */
export async function threadOf(dispatcher: Dispatcher, method: string): Promise<number> {
  const reply = (await dispatcher.dispatch({ method, id: 1 })) as { result: number };
  // Two immediates later the watch has told what it found. A timer would not do: where a timer's callback takes a millisecond,
  // Node runs the timers that it set before any immediate.
  await turns();
  return reply.result;
}

/** How often a procedure has been named for holding the main thread. */
export function timesNamed(dispatcher: Dispatcher, method: string): number {
  return dispatcher.stats().blocked[method]?.times ?? 0;
}

/**
 * Calls a procedure that holds the main thread until it has been named so often. All these calls run on this thread. A call in
 * which the garbage collector paused the thread for long may go unnamed, and that is rare.
 */
export async function callUntilNamed(
  dispatcher: Dispatcher,
  method: string,
  times: number,
): Promise<void> {
  for (let call = 1; timesNamed(dispatcher, method) < times; call++) {
    assert.ok(call <= 5 * times, `${method} was named too seldom in ${call - 1} calls`);
    assert.equal(await threadOf(dispatcher, method), threadId);
  }
}

export const modules = [fixture('blocking.ts')];

export function started(t: Lifetime, options: DispatcherOptions = {}): Promise<Running> {
  return Running.start(t, { modules, ...options });
}

export function named(lines: readonly LogLine[]): string[] {
  return lines
    .filter(({ fields }) => fields.event === 'main-thread-blocked')
    .map(({ fields }) => String(fields.method));
}
