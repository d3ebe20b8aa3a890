import { isDoneWithin } from '../../../core/base/timer.ts';
import type { LogLevel } from '../../../core/observe/log.ts';
import type { Dispatcher } from '../../../core/service/dispatcher.ts';
import type { HeapOrder } from '../../../core/service/heap-snapshots.ts';
import type { WorkerStack } from '../../../core/workers/options.ts';
import type { Guard } from '../guard-thread.ts';

/** What an operator asks of a service by its admin socket. */
export type Order =
  | { readonly order: 'stack' }
  | { readonly order: 'recycle' }
  | ({ readonly order: 'heap'; readonly process: number } & HeapOrder)
  | { readonly order: 'profile'; readonly seconds: number; readonly intervalMs: number }
  | { readonly order: 'log-level'; readonly level: LogLevel; readonly forMs: number };

/** What one process answers. `error`: one line. */
export interface Answer {
  readonly process: number;
  readonly pid: number;
  readonly answer?: unknown;
  readonly error?: string;
}

/** The answer to `stack`. */
export interface Stacks {
  readonly main: string;
  readonly workers: readonly WorkerStack[];
}

/** A process that serves, as orders see it. */
export interface Operated {
  readonly dispatcher: Pick<Dispatcher, 'stacks' | 'recycle' | 'heapSnapshot'>;
  readonly guard: Pick<Guard, 'look'>;
  setLevel(level: LogLevel): void;
  /** Takes a CPU profile. @throws Error with one line */
  profile(
    order: { readonly seconds: number; readonly intervalMs: number },
    left: AbortSignal,
  ): Promise<unknown>;
}

type Fields = Readonly<Record<string, unknown>>;

interface OrderKind<Name extends Order['order']> {
  /** Reads the members of an order. A text: what is wrong. */
  read(fields: Fields): Extract<Order, { readonly order: Name }> | string;
  /** Carries it out in one process. @param left aborts when the client has gone @throws Error with one line */
  run(
    process: Operated,
    order: Extract<Order, { readonly order: Name }>,
    left: AbortSignal,
  ): Promise<unknown>;
  /** How long a process may take, milliseconds. */
  limitMs(order: Extract<Order, { readonly order: Name }>): number;
}

const logLevels: readonly unknown[] = [
  'silent',
  'error',
  'warn',
  'info',
  'debug',
] satisfies LogLevel[];

/** How long a changed log level may last, milliseconds. */
const [shortestMs, longestMs] = [1000, 24 * 3_600_000];

/** How long the guard may take to show the stack of the main thread, milliseconds. */
const guardMs = 400;

/** How long the threads of a process may take to begin a profile, and to hand it in, milliseconds. */
const profileEndsMs = 30_000;

/** How long a worker may take to end its calls and to write its heap, milliseconds. */
const heapMs = 900_000;

function isNumberFromOne(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0;
}

/** Each order is a row here, a type above and a command in `cli/tools/admin-commands.ts`. */
const kinds: { readonly [Name in Order['order']]: OrderKind<Name> } = {
  stack: {
    read: () => ({ order: 'stack' }),
    run: async ({ dispatcher, guard }): Promise<Stacks> => {
      // First, so that what the main thread is seen in is not this order.
      const main = await mainStack(guard);
      return { main, workers: await dispatcher.stacks() };
    },
    limitMs: () => 5000,
  },
  recycle: {
    read: () => ({ order: 'recycle' }),
    run: async ({ dispatcher }) => ({ workers: dispatcher.recycle() }),
    limitMs: () => 5000,
  },
  heap: {
    read: ({ process, group, worker }) => {
      if (!isNumberFromOne(process)) return 'process: expected a number from 1';
      if (worker !== undefined && !isNumberFromOne(worker))
        return 'worker: expected a number from 1';
      if (group !== undefined && typeof group !== 'string') return 'group: expected a text';
      return { order: 'heap', process, group, worker };
    },
    run: ({ dispatcher }, { group, worker }) => dispatcher.heapSnapshot({ group, worker }),
    limitMs: () => heapMs,
  },
  profile: {
    read: ({ seconds, intervalMs }) => {
      if (typeof seconds !== 'number' || typeof intervalMs !== 'number')
        return 'seconds and intervalMs: expected numbers';
      return { order: 'profile', seconds, intervalMs };
    },
    run: (process, { seconds, intervalMs }, left) => process.profile({ seconds, intervalMs }, left),
    // A process refuses more.
    limitMs: ({ seconds }) => Math.min(Math.max(seconds, 0), 60) * 1000 + profileEndsMs,
  },
  'log-level': {
    read: ({ level, forMs }) => {
      if (!logLevels.includes(level)) return `level: expected one of ${logLevels.join(', ')}`;
      if (typeof forMs !== 'number' || !(forMs >= shortestMs && forMs <= longestMs))
        return 'the time: expected 1s to 24h';
      return { order: 'log-level', level: level as LogLevel, forMs };
    },
    run: async (process, { level, forMs }) => {
      process.setLevel(level);
      return { level, forMs };
    },
    limitMs: () => 5000,
  },
};

/** Reads a line of the admin socket. A text: what is wrong with it. */
export function parseOrder(line: string): Order | string {
  let fields: unknown;
  try {
    fields = JSON.parse(line);
  } catch {
    return 'not JSON';
  }
  if (typeof fields !== 'object' || fields === null) return 'not an object';
  const { order } = fields as Fields;
  if (typeof order !== 'string' || !Object.hasOwn(kinds, order)) return 'not an order';
  return kinds[order as Order['order']].read(fields as Fields);
}

export function limitOf(order: Order): number {
  // The row is that of the order's own name.
  const kind = kinds[order.order] as OrderKind<Order['order']>;
  return kind.limitMs(order);
}

/** The answer to an order for a process that is not there; undefined: it is there, or the order is for all. */
export function refusalOf(order: Order, processes: number): Answer | undefined {
  if (!('process' in order) || order.process <= processes) return undefined;
  const error = `there is no such process: the service has ${processes}`;
  return { process: order.process, pid: 0, error };
}

/** Carries an order out in this process. */
export async function carryOut(
  process: Operated,
  order: Order,
  left: AbortSignal,
): Promise<Pick<Answer, 'answer' | 'error'>> {
  try {
    // The row is that of the order's own name.
    const kind = kinds[order.order] as OrderKind<Order['order']>;
    return { answer: await kind.run(process, order, left) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

async function mainStack(guard: Pick<Guard, 'look'>): Promise<string> {
  let stack = 'no stack: the guard of the process does not answer';
  const seen = guard.look().then((text) => {
    stack = text === '' ? 'no stack: its event loop waits' : text;
  });
  await isDoneWithin(seen, guardMs);
  return stack;
}
