import { setTimeout as pause } from 'node:timers/promises';
import { clockMs } from '../base/clock.ts';
import { isDoneWithin } from '../base/timer.ts';
import { framesOf, isOwnFile } from '../modules/module-url.ts';
import { type InspectedThread, inspectedWorkers } from './inspected-threads.ts';
import { timesOf } from './seats.ts';

/** A thread that is asked what it does. */
export interface InspectableThread {
  readonly threadId: number;
  /** The operating system's number of the thread; 0: not known. */
  readonly tid: number;
  /** How long its event loop has slept since it began, milliseconds. */
  readonly idleMs: number;
}

/** What a thread was found in. */
export type Sight =
  /** `stack`: a line for each frame, the innermost first. */
  | { readonly in: 'code'; readonly stack: string }
  /** Microtasks, or callbacks of `process.nextTick`, that never let the event loop turn. */
  | { readonly in: 'microtasks' }
  /** Native code, which gives no stack. */
  | { readonly in: 'native'; readonly doing: 'computing' | 'waiting' | undefined }
  /** The thread sleeps in its event loop. */
  | { readonly in: 'nothing' };

/**
 * Makes an Error in the thread and returns the lines of its stack. V8 runs this in an interrupt, so the frames below it are those
 * of the code that the thread is in. The stack must have the usual form, whatever the thread's code has set; and an own
 * `prepareStackTrace` is code of the user, which must not run here.
 */
export const stackExpression = `(() => {
  const { stackTraceLimit, prepareStackTrace } = Error;
  Error.stackTraceLimit = 30;
  Error.prepareStackTrace = undefined;
  try { return new Error().stack; }
  finally { Object.assign(Error, { stackTraceLimit, prepareStackTrace }); }
})()`;

const evaluation = { expression: stackExpression, returnByValue: true, silent: true };

/** Lines of the answer before the frames of the thread's own code: the Error's name, and two frames of the expression. */
export const expressionLines = 3;

/** So many times a thread is asked that answers between two microtasks: the next answer may come within one. */
const maxAsks = 10;

/** Between two asks, milliseconds: a thread whose event loop waits must be seen to wait, which some versions of Node count in whole ones. */
const askAgainMs = 3;

/** Of what a thread answers, so much is kept, characters. */
const maxStackLength = 8192;

/**
 * Asks threads of this process what they do now, by the inspector's protocol: no port is opened, the threads are not paused, and
 * no microtask runs early. A thread that is in native code does not answer within `limitMs`.
 *
 * @returns what was found, without the threads that have ended
 * @throws Error if this process may not use the inspector: by Node's permission model, for example
 */
export async function lookInto<Thread extends InspectableThread>(
  threads: readonly Thread[],
  limitMs: number,
): Promise<Map<Thread, Sight>> {
  const sights = new Map<Thread, Sight>();
  /** The threads that have not answered yet. */
  const asked = new Set<StackRequest<Thread>>();
  const ask = async (one: InspectedThread, from: StackRequest<Thread>): Promise<void> => {
    asked.add(from);
    try {
      let sight: Sight | undefined;
      while (sight === undefined) {
        sight = from.read(await one.ask('Runtime.evaluate', evaluation));
        if (sight === undefined) await pause(askAgainMs);
        // The time for answers has ended.
        if (!asked.has(from)) return;
      }
      sights.set(from.thread, sight);
    } catch {
      // The thread has ended.
    }
    asked.delete(from);
  };
  const began = clockMs();
  const inspected = inspectedWorkers(threads.map(({ threadId }) => threadId));
  const answers = inspected.map((one) => {
    const thread = threads.find(({ threadId }) => threadId === one.threadId) as Thread;
    return ask(one, new StackRequest(thread));
  });
  await isDoneWithin(Promise.all(answers), limitMs);
  for (const from of asked) sights.set(from.thread, from.withoutAnswer(clockMs() - began));
  asked.clear();
  return sights;
}

/** A thread that was asked and has not said enough yet. */
class StackRequest<Thread extends InspectableThread> {
  readonly thread: Thread;
  readonly #idleMs: number;
  readonly #busyMs: number | undefined;
  #asks = 1;

  constructor(thread: Thread) {
    this.thread = thread;
    this.#idleMs = thread.idleMs;
    this.#busyMs = busyMs(thread.tid);
  }

  /** @returns undefined: it is to be asked again */
  read(answer: string): Sight | undefined {
    const stack = ownStack(textOf(answer));
    if (stack !== '') return { in: 'code', stack };
    if (this.thread.idleMs > this.#idleMs) return { in: 'nothing' };
    return ++this.#asks > maxAsks ? { in: 'microtasks' } : undefined;
  }

  /** At the end of the time for answers. @param waitedMs how long that was */
  withoutAnswer(waitedMs: number): Sight {
    // It has answered before, and native code answers nothing.
    if (this.#asks > 1) return { in: 'microtasks' };
    const before = this.#busyMs;
    const now = busyMs(this.thread.tid);
    if (before === undefined || now === undefined) return { in: 'native', doing: undefined };
    // While its garbage is collected, other threads do a part of the work.
    return { in: 'native', doing: now - before > waitedMs / 10 ? 'computing' : 'waiting' };
  }
}

function textOf(answer: string): string {
  const { result } = JSON.parse(answer) as { readonly result?: { readonly value?: unknown } };
  const value = result?.value;
  // The thread may have replaced Error.
  return typeof value === 'string' ? value.slice(0, maxStackLength) : '';
}

/** The frames of a stack without those of Node and of this package that have called the procedure. */
function ownStack(text: string): string {
  const lines = text.split('\n').slice(expressionLines);
  const last = lines.findLastIndex((line) => framesOf(line).some(({ url }) => !isOwnFile(url)));
  const kept =
    last === -1 ? lines.filter((line) => !line.includes('node:')) : lines.slice(0, last + 1);
  return kept.map((line) => line.trim()).join('\n');
}

/** How long a thread has run, or has waited for a processor, by Linux; undefined: the system does not tell. */
function busyMs(tid: number): number | undefined {
  const times = timesOf(tid);
  return times && times.ranMs + times.waitedMs;
}

/** A sight in words: the stack, or why there is none. */
export function describeSight(sight: Sight): string {
  switch (sight.in) {
    case 'code':
      return sight.stack;
    case 'microtasks':
      return 'no stack: in an endless chain of microtasks, or of process.nextTick, and between two of them';
    case 'native':
      return `no stack: in native code${sight.doing === undefined ? '' : `, ${sight.doing}`}`;
    default:
      return 'no stack: its event loop waits';
  }
}
