import { createRequire } from 'node:module';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { Piscina } from 'piscina';
import { aheadMs } from '../../base/clock.ts';
import { isDoneWithin } from '../../base/is-done-within.ts';
import { messageOf } from '../../base/message-of.ts';
import { ownFile } from '../../base/package-files.ts';
import type { BodyMemory } from '../../dispatch/body-memory.ts';
import type { PoolCounters } from '../stats.ts';
import { parseMessage } from '../wire/inbox.ts';
import { Ledger } from '../wire/ledger.ts';
import {
  type Notice,
  type ReplicaOptions,
  type ReplicaTask,
  type ToReplica,
  wake,
} from '../wire/messages.ts';
import { Outbox, type ResultReader } from '../wire/outbox.ts';

export interface ThreadOptions {
  /** Threads to keep, the warm spares included. */
  readonly threads: number;
  readonly modules: readonly string[];
  /** Flags of the threads; undefined: those of this process. */
  readonly execArgv: readonly string[] | undefined;
  /** Added to the niceness of the threads, so that the front end wins a contended core. */
  readonly niceIncrement: number;
  /** Old generation of each worker's heap in MB, 0: V8's own default. */
  readonly workerMemoryMb: number;
  readonly replica: ReplicaOptions;
  /** What large params lie in on their way. */
  readonly bodies: BodyMemory;
  /** The counters go on here: they outlive these threads. */
  readonly counters: PoolCounters;
}

/**
 * How a replica's thread ended. `closed`: it was told to end, and did. `killed`: the front end terminated it. The
 * others: it ended by itself.
 */
export type ThreadEnd = 'closed' | 'killed' | 'exit' | 'memory' | 'error';

export interface ThreadExit {
  readonly end: ThreadEnd;
  /** For the log: what the thread died of. */
  readonly detail: string | undefined;
}

/** The front end's handle of one replica's thread. */
export interface ReplicaThread {
  readonly ledger: Ledger;
  post(message: ToReplica): void;
  /** Reads the results that are in the outbox, whether the replica has told of them or not. */
  collect(): void;
  /** Terminates the thread, whatever it is doing. */
  kill(): void;
}

export interface ThreadListener {
  readonly onResult: ResultReader<string | Uint8Array>;
  readonly onNotice: (notice: Notice) => void;
  /** The thread posted something that is no message of a replica. It is ignored. */
  readonly onGarbled: (detail: string) => void;
  /** The outbox can't be read any more: no further result of the thread will come. */
  readonly onUnreadable: () => void;
  readonly onEnd: (exit: ThreadExit) => void;
  /** The thread runs nothing any more. For a zombie this comes later than `onEnd`, or never. */
  readonly onGone: () => void;
}

/**
 * Results that are read in one turn of the event loop. The calls that they make room for leave before further results
 * are read: if all were read at once, the worker would run out of work meanwhile.
 */
const resultsPerTurn = 16;

/** A terminated thread that has not gone after so long is stuck in native code, a zombie, milliseconds. */
const zombieAfterMs = 2000;

// Piscina is loaded by the first pool: every replica imports this package, and no replica has a pool.
const load = createRequire(import.meta.url);

/**
 * The worker threads. Piscina starts them, ends them and sets their niceness; each runs one resident task, which
 * serves frames on a port of its own until it is told to close. So a kill is the abort of that task and
 * takes one thread with it, and piscina's queue, whose limits and signals have traps, is never used.
 */
export class ReplicaThreads {
  readonly #piscina: Piscina;
  readonly #options: ThreadOptions;

  constructor(options: ThreadOptions, onError: (error: Error) => void) {
    this.#options = options;
    const { Piscina } = load('piscina') as typeof import('piscina');
    this.#piscina = new Piscina({
      filename: ownFile('workers/replica.ts').href,
      minThreads: options.threads,
      maxThreads: options.threads,
      concurrentTasksPerWorker: 1,
      // 'sync' would freeze the timers and sockets of a replica that idles.
      atomics: 'disabled',
      niceIncrement: options.niceIncrement,
      ...(options.execArgv !== undefined && { execArgv: [...options.execArgv] }),
      recordTiming: false,
      ...(options.workerMemoryMb > 0 && {
        resourceLimits: { maxOldGenerationSizeMb: options.workerMemoryMb },
      }),
    });
    // Without a listener an error of an idle thread would end the process.
    this.#piscina.on('error', onError);
  }

  /**
   * Starts a replica on the next idle thread.
   *
   * Its results and notices come in the order they were made, and all of them before `onEnd`, which is
   * called once, when the thread is gone (or a zombie) or the task has ended.
   *
   * @param fingerprint see `ReplicaTask`
   */
  start(listener: ThreadListener, fingerprint: string | undefined): ReplicaThread {
    const { onResult, onNotice, onGarbled, onUnreadable, onEnd, onGone } = listener;
    const { port1: port, port2 } = new MessageChannel();
    const ledger = new Ledger();
    const outbox = new Outbox();
    const abort = new AbortController();
    const { modules, replica: options } = this.#options;
    const task: ReplicaTask = {
      port: port2,
      ledger: ledger.buffer,
      outbox: outbox.buffer,
      modules,
      fingerprint,
      aheadMs,
      options,
    };
    const drain = (limit?: number): boolean => {
      const hasMore = outbox.drain(onResult, limit);
      if (outbox.isUnreadable) onUnreadable();
      return hasMore;
    };
    const collect = (): void => {
      if (drain(resultsPerTurn)) setImmediate(afterSending);
    };
    // Frames leave in the immediates that come between.
    const afterSending = (): void => {
      setImmediate(collect);
    };
    port.on('message', (posted: unknown) => {
      const message = parseMessage(posted);
      if (message === wake) {
        collect();
        return;
      }
      drain();
      if (message === undefined) onGarbled('it posted what is no message of a worker');
      else if (!Array.isArray(message)) onNotice(message);
      else onResult(...message);
    });
    const ended = this.#piscina.run(task, { transferList: [port2], signal: abort.signal }).then(
      (): ThreadExit => ({ end: 'closed', detail: undefined }),
      (error: unknown): ThreadExit => toExit(error, abort.signal.aborted),
    );
    const closed = new Promise<void>((resolve) => port.once('close', resolve));
    void this.#drained(port, ended, closed).then((exit) => {
      // The thread may have been stopped after it had published a result, and before it told of it.
      drain();
      onEnd(exit);
      void closed.then(onGone);
    });
    return {
      ledger,
      post: (message) => port.postMessage(message),
      collect: () => {
        drain();
      },
      kill: () => abort.abort(),
    };
  }

  /**
   * From now on threads that end are not replaced. Piscina would replace them even after its own end, where a thread
   * goes that was terminated before.
   */
  letGo(): void {
    (this.#piscina.options as { minThreads: number }).minThreads = 0;
  }

  /** Ends all threads, at once; zombies are not waited for. */
  async destroy(): Promise<void> {
    this.letGo();
    await isDoneWithin(this.#piscina.destroy(), zombieAfterMs);
  }

  /**
   * Resolves with the exit when every message that the thread posted has been delivered: its port closes behind them.
   */
  async #drained(
    port: MessagePort,
    ended: Promise<ThreadExit>,
    closed: Promise<void>,
  ): Promise<ThreadExit> {
    const { counters } = this.#options;
    const exit = await ended;
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<void>((resolve) => {
      timer = setTimeout(() => {
        counters.zombies++;
        counters.zombiesNow++;
        void closed.then(() => counters.zombiesNow--);
        port.unref();
        resolve();
      }, zombieAfterMs);
    });
    await Promise.race([closed, limit]);
    clearTimeout(timer);
    return exit;
  }
}

/** What piscina's own error begins with where a thread ended without one of its own. */
const exitMessage = 'worker exited';

/**
 * By its text: piscina 5.3.2 rejects the task with a plain Error without a code, tells nobody which thread had the task,
 * and passes the errors of a thread on in the same way. The version is pinned, and test/service/crash.test.ts sees a change.
 */
function toExit(error: unknown, aborted: boolean): ThreadExit {
  const detail = messageOf(error);
  if (aborted) return { end: 'killed', detail };
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ERR_WORKER_OUT_OF_MEMORY') return { end: 'memory', detail };
  return { end: detail.startsWith(exitMessage) ? 'exit' : 'error', detail };
}
