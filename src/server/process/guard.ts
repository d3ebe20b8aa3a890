import type { Worker } from 'node:worker_threads';
import { hidden } from '../../core/base/escape.ts';
import { layout, maxSuspects, runningCode } from '../../core/base/running-code.ts';
import { ownFolders } from '../../core/modules/module-url.ts';
import { startOwnThread } from '../../core/modules/own-thread.ts';
import type { LogLevel } from '../../core/observe/log.ts';
import { expressionLines, stackExpression } from '../../core/workers/stack.ts';
import { endingMs, guardFile } from './fork-server.ts';
import type { GuardData } from './guard-thread.ts';

/** How often the guard looks for its supervisor and at the main thread, and how often the main thread shows that it turns, milliseconds. */
const lookMs = 250;

export interface GuardOptions {
  /** undefined: there is no supervisor. */
  readonly supervised:
    | {
        /** That of the channel to the supervisor. */
        readonly key: string;
        /** What the process may have after the supervisor has gone, milliseconds. */
        readonly graceMs: number;
      }
    | undefined;
  /** The supervisor kills a process that stands still for so long, milliseconds; 0: never. */
  readonly watchdogTimeoutMs: number;
  readonly logLevel: LogLevel;
  /** Fields of each line of the log. */
  readonly base: Readonly<Record<string, unknown>>;
}

/**
 * A thread that watches over a server process while its main thread can't, four times a second.
 *
 * It logs the stack of a main thread that stands still: after a second, and after half of the time at which the supervisor
 * kills the process. Code behind an `await` is found by this alone.
 *
 * In a process with a supervisor it also ends the process by SIGKILL when the supervisor has gone and the process has not drained
 * and ended within its grace time. The main thread would see the channel close, but not while it is in an endless loop. Cheaper
 * ways don't work: the threads of procedures can be held up like the main thread; Node can't ask for the kernel's signal
 * at a parent's death, which would leave no time to drain anyway. And it tells the supervisor which procedure has held the
 * main thread for a look or longer: a main thread that is stuck, or dies of memory, can't.
 */
export class Guard {
  readonly #thread: Worker;
  readonly #asked: ((stack: string) => void)[] = [];

  constructor({ supervised, watchdogTimeoutMs, logLevel, base }: GuardOptions) {
    const data: GuardData = {
      supervisor: supervised && { ...supervised, pid: process.ppid, file: guardFile },
      secondLookMs: watchdogTimeoutMs === 0 ? Number.POSITIVE_INFINITY : watchdogTimeoutMs / 2,
      level: logLevel,
      base,
      isPretty: process.stderr.isTTY,
      buffer: runningCode.buffer,
      layout,
      maxSuspects,
      lookMs,
      endingMs,
      mayInspect: process.permission?.has('inspector') !== false,
      expression: stackExpression,
      expressionLines,
      ownFolders: ownFolders.map((folder) => folder.replace('file://', '')),
      hidden,
    };
    this.#thread = startOwnThread('src/server/process/guard-thread.ts', data);
    // If the thread fails, the process runs without a guard.
    this.#thread.on('error', () => this.#answer('no stack: the guard of the process has failed'));
    this.#thread.on('message', (stack: unknown) => this.#answer(String(stack)));
  }

  /** The process serves: from now on its main thread must turn. To be called once. */
  watch(): void {
    runningCode.beat();
    setInterval(() => runningCode.beat(), lookMs).unref();
  }

  /** The stack of the main thread, as the guard sees it; empty: its event loop waits. */
  look(): Promise<string> {
    return new Promise((resolve) => {
      this.#asked.push(resolve);
      this.#thread.postMessage(undefined);
    });
  }

  setLevel(level: LogLevel): void {
    this.#thread.postMessage(level);
  }

  #answer(stack: string): void {
    for (const resolve of this.#asked.splice(0)) resolve(stack);
  }
}
