import { messageOf } from '../../core/base/message-of.ts';
import { isDoneWithin } from '../../core/base/timer.ts';
import type { LogLevel } from '../../core/observe/log.ts';
import type { Dispatcher } from '../../core/service/dispatcher.ts';
import type { HeapFile } from '../../core/service/heap-snapshots.ts';
import type { WorkerStack } from '../../core/workers/options.ts';
import type { Guard } from './guard.ts';

/** A process that serves, as orders see it. */
export interface Operated {
  readonly dispatcher: Pick<Dispatcher, 'stacks' | 'heapSnapshot'>;
  readonly guard: Pick<Guard, 'look'>;
  setLevel(level: LogLevel): void;
  /** Takes a CPU profile. @throws Error with one line */
  profile(
    order: { readonly seconds: number; readonly intervalMs: number },
    left: AbortSignal,
  ): Promise<unknown>;
}

/** What an operator asks of a service by its admin socket. The other members are the params of its row. */
export interface Order {
  readonly order: OrderName;
  readonly [param: string]: unknown;
}

/** What a process makes of an order. `error`: one line. */
export interface Outcome {
  readonly answer?: unknown;
  readonly error?: string;
}

export interface Answer extends Outcome {
  readonly process: number;
  readonly pid: number;
}

export interface Stacks {
  readonly main: string;
  readonly workers: readonly WorkerStack[];
}

/** What the command keeps of a profile, whose threads have gone into files. */
export interface KeptProfile {
  readonly threads: readonly {
    readonly name: string;
    readonly threadId: number;
    readonly file?: string;
    readonly error?: string;
  }[];
  /** Their `self` add up to all samples. */
  readonly functions: readonly {
    readonly name: string;
    readonly place: string;
    readonly self: number;
    readonly total: number;
  }[];
}

/** A param of an order, and the flag or the argument of its command. */
export interface OrderParam<Value> {
  /** As Commander has it: `--for <time>`; without dashes it is an argument. */
  readonly flag: string;
  readonly about: string;
  readonly kind: 'number' | 'duration' | 'text';
  readonly choices?: readonly string[];
  /** What the command gives if it is left out. */
  readonly fallback?: Value;
  accepts(value: unknown): value is Value;
  readonly refusal: string;
}

type Params = Readonly<Record<string, OrderParam<unknown>>>;
type Values<From extends Params> = {
  readonly [Name in keyof From]: From[Name] extends OrderParam<infer Value> ? Value : never;
};

interface OrderRow<From extends Params, Result> {
  readonly summary: string;
  readonly description: string;
  /** Below the help of the command. */
  readonly examples: string;
  readonly params: From;
  /** How long a process may take, milliseconds. */
  limitMs(params: Values<From>): number;
  /** Carries it out in one process. @param left aborts when the client has gone @throws Error with one line */
  run(process: Operated, params: Values<From>, left: AbortSignal): Promise<unknown>;
  /** The lines that the command prints for one process. */
  print(result: Result): string[];
}

/** Infers the types of a row from its params. */
function row<From extends Params, Result>(of: OrderRow<From, Result>): OrderRow<From, Result> {
  return of;
}

const logLevels: readonly unknown[] = [
  'silent',
  'error',
  'warn',
  'info',
  'debug',
] satisfies LogLevel[];

/** How long a changed log level may last, milliseconds. */
const [minMs, maxMs] = [1000, 24 * 3_600_000];

/** How long the guard may take to show the stack of the main thread, milliseconds. */
const guardMs = 400;

/** How long the threads of a process may take to begin a profile, and to hand it in, milliseconds. */
const profileEndsMs = 30_000;

/** How long a worker may take to end its calls and to write its heap, milliseconds. */
const heapMs = 900_000;

/** Functions of a profile that are printed. The files have all of them. */
const maxFunctions = 20;

const isNumber = (value: unknown): value is number => typeof value === 'number';
const isCount = (value: unknown): value is number =>
  isNumber(value) && Number.isSafeInteger(value) && value > 0;
const isCountOrNone = (value: unknown): value is number | undefined =>
  value === undefined || isCount(value);

/** The orders to a running service. A row is all of one: its command, what each process does, and what is printed. */
export const orders = {
  stack: row({
    summary: 'print what each thread of a service does now',
    description: 'Prints the stack of each thread of a running service.',
    examples: `
The service must have been started with --admin-socket. Nothing is paused: no call fails, none is slower for long.

Examples:
  tandem serve ./procedures.ts --admin-socket /run/shop/admin.sock
  tandem stack --admin-socket /run/shop/admin.sock
  TANDEM_ADMIN_SOCKET=/run/shop/admin.sock tandem stack --json
`,
    params: {},
    limitMs: () => 5000,
    run: async ({ dispatcher, guard }): Promise<Stacks> => {
      // First, so that what the main thread is seen in is not this order.
      const main = await mainStack(guard);
      return { main, workers: await dispatcher.stacks() };
    },
    print: ({ main, workers }: Stacks) => [
      'main thread',
      ...indented(main),
      ...workers.flatMap(({ worker, threadId, group, running, inFlight, stack }) => {
        const facts = [
          `worker ${worker}`,
          ...(group === undefined ? [] : [`group ${group}`]),
          `thread ${threadId}`,
          ...(running === undefined ? [] : [`${running.procedure} for ${running.ms} ms`]),
          `${inFlight} in flight`,
        ];
        return [facts.join(', '), ...indented(stack)];
      }),
    ],
  }),
  profile: row({
    summary: 'see where the threads of a service spend their CPU time',
    description:
      'Takes a CPU profile of each thread of a running service: a .cpuprofile for each, and tables of procedures and functions.',
    examples: `
The main thread stands still once, for about 0.1 s. Chrome DevTools and speedscope open the files.

Examples:
  tandem profile --out profiles --admin-socket /run/shop/admin.sock
  tandem profile --seconds 30 --interval-ms 1 --out profiles --admin-socket /run/shop/admin.sock
`,
    params: {
      seconds: {
        flag: '--seconds <number>',
        about: 'how long, at most 60 (default: 10)',
        kind: 'number',
        fallback: 10,
        accepts: isNumber,
        refusal: 'seconds: expected a number',
      },
      intervalMs: {
        flag: '--interval-ms <number>',
        about: 'between two samples, 1 to 1000 (default: 10)',
        kind: 'number',
        fallback: 10,
        accepts: isNumber,
        refusal: 'intervalMs: expected a number',
      },
    },
    // A process refuses more.
    limitMs: ({ seconds }) => Math.min(Math.max(seconds, 0), 60) * 1000 + profileEndsMs,
    run: (process, { seconds, intervalMs }, left) => process.profile({ seconds, intervalMs }, left),
    print: ({ threads, functions }: KeptProfile) => {
      const samples = functions.reduce((sum, { self }) => sum + self, 0);
      const share = (part: number): string => `${((part / samples) * 100).toFixed(1)}%`.padStart(7);
      return [
        ...threads.map(({ name, file, error }) => `${name}: ${file ?? `failed: ${error}`}`),
        `${samples} samples by function`,
        ...functions
          .slice(0, maxFunctions)
          .map(({ name, place, self, total }) =>
            `${share(self)} ${share(total)}  ${name}  ${place}`.trimEnd(),
          ),
      ];
    },
  }),
  'log-level': row({
    summary: 'change the log level of a service for a while',
    description: 'Changes the log level of a running service. It goes back by itself.',
    examples: `
Examples:
  tandem log-level debug --admin-socket /run/shop/admin.sock
  tandem log-level debug --for 2m --admin-socket /run/shop/admin.sock
`,
    params: {
      level: {
        flag: '<level>',
        about: 'from which level on lines are written',
        kind: 'text',
        choices: logLevels as readonly string[],
        accepts: (value): value is LogLevel => logLevels.includes(value),
        refusal: `level: expected one of ${logLevels.join(', ')}`,
      },
      forMs: {
        flag: '--for <time>',
        about: 'until it goes back, 1s to 24h (default: 15m)',
        kind: 'duration',
        fallback: 900_000,
        accepts: (value): value is number => isNumber(value) && value >= minMs && value <= maxMs,
        refusal: 'the time: expected 1s to 24h',
      },
    },
    limitMs: () => 5000,
    run: async (process, { level, forMs }) => {
      process.setLevel(level);
      return { level, forMs };
    },
    print: ({ level, forMs }: { readonly level: LogLevel; readonly forMs: number }) => [
      `log level ${level}, for ${Math.round(forMs / 1000)} s`,
    ],
  }),
  heap: row({
    summary: 'write a snapshot of the heap of a worker',
    description:
      'Has one worker of a running service write a snapshot of its heap, into the folder of the option --heap-dir of the service.',
    examples: `
The service must have been started with --heap-dir too. The worker with the largest heap ends its calls, writes the snapshot, and is
replaced; no call is lost. It takes about 0.1 s and 14 MB of memory for each MB of the heap. Chrome DevTools opens the file.

Examples:
  tandem serve ./procedures.ts --admin-socket /run/shop/admin.sock --heap-dir /var/lib/shop
  tandem heap --admin-socket /run/shop/admin.sock
  tandem heap --process 2 --group models --worker 1 --admin-socket /run/shop/admin.sock
`,
    params: {
      process: {
        flag: '--process <number>',
        about: 'which process of the service (default: 1)',
        kind: 'number',
        fallback: 1,
        accepts: isCount,
        refusal: 'process: expected a number from 1',
      },
      group: {
        flag: '--group <name>',
        about: 'a worker of this group',
        kind: 'text',
        accepts: (value): value is string | undefined =>
          value === undefined || typeof value === 'string',
        refusal: 'group: expected a text',
      },
      worker: {
        flag: '--worker <number>',
        about: 'which worker, as in the metrics and in tandem stack',
        kind: 'number',
        accepts: isCountOrNone,
        refusal: 'worker: expected a number from 1',
      },
    },
    limitMs: () => heapMs,
    run: ({ dispatcher }, { group, worker }) => dispatcher.heapSnapshot({ group, worker }),
    print: ({ path, bytes, worker, group }: HeapFile) => {
      const who = group === undefined ? '' : ` of group ${group}`;
      return [`${path}: ${Math.round(bytes / 1024 ** 2)} MB, the heap of worker ${worker}${who}`];
    },
  }),
};

export type OrderName = keyof typeof orders;

/** The row of an order, which takes the order's own params. */
export function rowOf(name: OrderName): OrderRow<Params, unknown> {
  return orders[name] as OrderRow<Params, unknown>;
}

/** Reads a line of the admin socket. A text: what is wrong with it. */
export function parseOrder(line: string): Order | string {
  let given: unknown;
  try {
    given = JSON.parse(line);
  } catch {
    return 'not JSON';
  }
  if (typeof given !== 'object' || given === null) return 'not an object';
  const { order, ...fields } = given as Readonly<Record<string, unknown>>;
  if (typeof order !== 'string' || !Object.hasOwn(orders, order)) return 'not an order';
  const name = order as OrderName;
  const params = Object.entries(rowOf(name).params);
  const wrong = params.find(([param, rule]) => !rule.accepts(fields[param]));
  if (wrong !== undefined) return wrong[1].refusal;
  return { order: name, ...Object.fromEntries(params.map(([param]) => [param, fields[param]])) };
}

export function limitOf(order: Order): number {
  return rowOf(order.order).limitMs(order);
}

/** The process that an order names; undefined: it is for all. */
export function processOf({ process }: Order): number | undefined {
  return process as number | undefined;
}

/** The answer to an order for a process that is not there; undefined: it is there, or the order is for all. */
export function refusalOf(order: Order, processes: number): Answer | undefined {
  const process = processOf(order);
  if (process === undefined || process <= processes) return undefined;
  return { process, pid: 0, error: `there is no such process: the service has ${processes}` };
}

export async function carryOut(
  process: Operated,
  order: Order,
  left: AbortSignal,
): Promise<Outcome> {
  try {
    return { answer: await rowOf(order.order).run(process, order, left) };
  } catch (error) {
    return { error: messageOf(error) };
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

function indented(stack: string): string[] {
  return stack.split('\n').map((frame) => `  ${frame}`);
}
