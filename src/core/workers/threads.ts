import { createRequire } from 'node:module';
import { MessageChannel, type MessagePort, type Worker } from 'node:worker_threads';
import type { Piscina } from 'piscina';
import { aheadMs } from '../base/clock.ts';
import { messageOf } from '../base/message-of.ts';
import { ownFile } from '../base/package-files.ts';
import { threadNameOf } from '../base/place.ts';
import { isDoneWithin } from '../base/timer.ts';
import { patternAnalyses } from '../schema/patterns.ts';
import { noteEnding } from './inspected-threads.ts';
import type { Expected, PoolOptions, ThreadExit, WorkerThread } from './options.ts';
import { Ledger } from './wire/ledger.ts';
import { Outbox, parseMessage, type ReplicaTask, wake } from './wire/messages.ts';
import type { PoolWorker } from './worker.ts';

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
 * The worker threads. Piscina starts them, ends them and sets their niceness. Each runs one resident task, which serves
 * frames on a port of its own until it is told to close: a kill is the abort of that task, and ends one thread.
 */
export class WorkerThreads {
  readonly #piscina: Piscina;
  readonly #options: PoolOptions;
  /** From now on no thread is lost: all are ended. */
  #isDestroyed = false;

  constructor(options: PoolOptions, onError: (error: Error) => void) {
    this.#options = options;
    const threads = options.workers + options.spareWorkers;
    const { Piscina } = load('piscina') as typeof import('piscina');
    this.#piscina = new Piscina({
      filename: ownFile('workers/replica.ts').href,
      minThreads: options.workers,
      maxThreads: threads,
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
    // Threads of spares start with the spares, so that they do not compete with the start of the service.
    this.#keep(threads);
    // Without a listener an error of an idle thread would end the process.
    this.#piscina.on('error', (error: Error) => {
      // The memory of a thread that is being ended. Of any other thread the task tells.
      if (codeOf(error) !== outOfMemory) onError(error);
    });
  }

  /**
   * Starts a replica on the next idle thread.
   *
   * Its results and notices come to `worker` in the order they were made, and all of them before `onEnd`, which is called once,
   * when the thread is gone (or a zombie) or the task has ended.
   *
   * @param seat the number of its seat
   * @param expected what it must have loaded; undefined: it reports what it has loaded
   */
  start(worker: PoolWorker, seat: number, expected: Expected | undefined): WorkerThread {
    const { port1: port, port2 } = new MessageChannel();
    const ledger = new Ledger();
    const outbox = new Outbox();
    const abort = new AbortController();
    const { modules, group, broadcasts, replica: options } = this.#options;
    const task: ReplicaTask = {
      port: port2,
      ledger: ledger.buffer,
      outbox: outbox.buffer,
      modules,
      fingerprint: expected?.fingerprint,
      mayImport: expected?.mayImport ?? true,
      group,
      replays: broadcasts.replaysFor(group),
      aheadMs,
      options,
      threadName: threadNameOf(group, seat),
      patterns: patternAnalyses,
    };
    const drain = (limit?: number): boolean => {
      const hasMore = outbox.drain(worker.onResult, limit);
      if (outbox.isUnreadable) worker.onUnreadable();
      return hasMore;
    };
    let thread: Worker | undefined;
    const collect = (): void => {
      if (drain(resultsPerTurn)) setImmediate(afterSending);
    };
    // Frames leave in the immediates that come between.
    const afterSending = (): void => {
      setImmediate(collect);
    };
    port.on('messageerror', () => worker.onUnreadable());
    port.on('message', (posted: unknown) => {
      const message = parseMessage(posted);
      if (message === wake) {
        collect();
        return;
      }
      drain();
      if (message === undefined) worker.onUnreadable();
      else if (Array.isArray(message)) worker.onResult(...message);
      else {
        if (message.type === 'ready' || message.type === 'stage') {
          thread ??= this.#piscina.threads.find(({ threadId }) => threadId === message.threadId);
        }
        try {
          worker.onNotice(message);
        } catch (error) {
          // What a notice holds is not checked. Nonsense costs its worker, never the main thread.
          worker.onUnreadable(`its message could not be handled: ${messageOf(error)}`);
        }
      }
    });
    const ended = this.#piscina
      .run(task, { transferList: [port2], signal: abort.signal })
      .then((): ThreadExit => ({ end: 'closed', detail: undefined }), toExit);
    const closed = new Promise<void>((resolve) => port.once('close', resolve));
    void this.#drained(port, ended, closed).then((exit) => {
      // The thread may have been stopped after it had published a result, and before it told of it.
      drain();
      // A thread may be killed when it has failed, and has not gone.
      const isKilled = abort.signal.aborted || this.#isDestroyed;
      worker.onEnd(isKilled ? { ...exit, end: 'killed' } : exit);
      void closed.then(() => worker.onGone());
    });
    return {
      ledger,
      get idleMs() {
        return thread?.performance.eventLoopUtilization().idle ?? 0;
      },
      post: (message) => port.postMessage(message),
      collect: () => void drain(),
      kill: () => {
        if (thread !== undefined) noteEnding(thread);
        abort.abort();
      },
    };
  }

  /** From now on threads that end are not replaced. Piscina would replace them even after its own end. */
  letGo(): void {
    this.#keep(0);
  }

  /** Has piscina replace threads that end, as long as there are fewer. */
  #keep(threads: number): void {
    (this.#piscina.options as { minThreads: number }).minThreads = threads;
  }

  /** Ends all threads, at once; zombies are not waited for. */
  async destroy(): Promise<void> {
    this.letGo();
    this.#isDestroyed = true;
    for (const thread of this.#piscina.threads) noteEnding(thread);
    await isDoneWithin(this.#piscina.destroy(), zombieAfterMs);
  }

  /** Resolves when every message that the thread posted has been delivered: its port closes after them. */
  async #drained(
    port: MessagePort,
    ended: Promise<ThreadExit>,
    closed: Promise<void>,
  ): Promise<ThreadExit> {
    const exit = await ended;
    if (!(await isDoneWithin(closed, zombieAfterMs))) {
      const { counters } = this.#options;
      counters.counts.zombies++;
      counters.zombiesNow++;
      void closed.then(() => counters.zombiesNow--);
      port.unref();
    }
    return exit;
  }
}

const outOfMemory = 'ERR_WORKER_OUT_OF_MEMORY';

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

/** What piscina's own error begins with where a thread ended without one of its own. */
const exitMessage = 'worker exited';

/**
 * By its text: piscina 5.3.2 rejects the task with a plain Error without a code, tells nobody which thread had the task,
 * and passes the errors of a thread on in the same way. The version is pinned, and test/service/crash.test.ts sees a change.
 */
function toExit(error: unknown): ThreadExit {
  const detail = messageOf(error);
  if (codeOf(error) === outOfMemory) return { end: 'memory', detail };
  return { end: detail.startsWith(exitMessage) ? 'exit' : 'error', detail };
}
