import { createRequire } from 'node:module';
import { MessageChannel, type MessagePort, type Worker } from 'node:worker_threads';
import type { Piscina } from 'piscina';
import { aheadMs } from '../base/clock.ts';
import { messageOf } from '../base/message-of.ts';
import { ownFile } from '../base/package-files.ts';
import { threadNameOf } from '../base/place.ts';
import { isDoneWithin } from '../base/timer.ts';
import { patternAnalyses } from '../schema/patterns.ts';
import { inspectNewThreads } from './inspected-threads.ts';
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

/** When a thread that has not gone is terminated again, milliseconds after the time before: each time twice as long, up to the last. */
const [terminateAgainMs, lastTerminateMs] = [100, 3200];

// Piscina is loaded by the first pool: every replica imports this package, and no replica has a pool.
const load = createRequire(import.meta.url);

/**
 * The worker threads. Piscina starts them, ends them and sets their niceness: one Piscina for each, which starts its thread at once.
 * A Piscina of several would start another thread in a listener when one has ended, where the error of a system that gives no
 * thread would end the process. Each thread runs one resident task, which serves frames on a port of its own until it is told to
 * close: a kill is the abort of that task.
 */
export class WorkerThreads {
  readonly #options: PoolOptions;
  readonly #onError: (error: Error) => void;
  /** Those whose threads have not ended. */
  readonly #all = new Set<Piscina>();
  /** Threads that have started, and have no task. */
  readonly #idle: Piscina[] = [];
  /** From now on no thread is lost: all are ended. */
  #isDestroyed = false;

  /** @throws Error if the system gives no thread */
  constructor(options: PoolOptions, onError: (error: Error) => void) {
    this.#options = options;
    this.#onError = onError;
    inspectNewThreads();
    try {
      // Threads of spares start with the spares, so that they do not compete with the start of the service.
      for (let i = 0; i < options.workers; i++) this.#idle.push(this.#startThread());
    } catch (error) {
      void this.destroy();
      throw error;
    }
  }

  /** @throws Error if the system gives no thread */
  #startThread(): Piscina {
    const { workerMemoryMb, niceIncrement, execArgv } = this.#options;
    const { Piscina } = load('piscina') as typeof import('piscina');
    const piscina = new Piscina({
      filename: ownFile('workers/replica.ts').href,
      minThreads: 1,
      maxThreads: 1,
      idleTimeout: Number.POSITIVE_INFINITY,
      concurrentTasksPerWorker: 1,
      // 'sync' would freeze the timers and sockets of a replica that idles.
      atomics: 'disabled',
      niceIncrement,
      ...(execArgv !== undefined && { execArgv: [...execArgv] }),
      recordTiming: false,
      ...(workerMemoryMb > 0 && { resourceLimits: { maxOldGenerationSizeMb: workerMemoryMb } }),
    });
    // A thread that ends is not replaced.
    (piscina.options as { minThreads: number }).minThreads = 0;
    // Without a listener an error of an idle thread would end the process.
    piscina.on('error', (error: Error) => {
      // The memory of a thread that is being ended. Of any other thread the task tells.
      if (codeOf(error) !== outOfMemory) this.#onError(error);
    });
    this.#all.add(piscina);
    return piscina;
  }

  /** A thread without a task: one that has started, and has not ended since, or a new one. @throws as `#startThread` */
  #takeThread(): Piscina {
    for (let idle = this.#idle.shift(); idle !== undefined; idle = this.#idle.shift()) {
      if (idle.threads.length > 0) return idle;
      this.#all.delete(idle);
    }
    return this.#startThread();
  }

  /**
   * Starts a replica on an idle thread, or on a new one.
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
        try {
          worker.onNotice(message);
        } catch (error) {
          // What a notice holds is not checked. Nonsense costs its worker, never the main thread.
          worker.onUnreadable(`its message could not be handled: ${messageOf(error)}`);
        }
      }
    });
    let thread: Worker | undefined;
    const run = async (): Promise<void> => {
      let piscina: Piscina | undefined;
      try {
        piscina = this.#takeThread();
        [thread] = piscina.threads;
        await piscina.run(task, { transferList: [port2], signal: abort.signal });
      } finally {
        // Without a thread nobody else closes it.
        if (piscina === undefined) port2.close();
        else if (piscina.threads.length === 0) this.#all.delete(piscina);
      }
    };
    const ended = run().then((): ThreadExit => ({ end: 'closed', detail: undefined }), toExit);
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
        abort.abort();
        if (thread !== undefined) endSurely(thread);
      },
    };
  }

  /** Ends all threads, at once; zombies are not waited for. */
  async destroy(): Promise<void> {
    this.#isDestroyed = true;
    const all = [...this.#all];
    for (const thread of all.flatMap(({ threads }) => threads)) endSurely(thread);
    await isDoneWithin(Promise.all(all.map((piscina) => piscina.destroy())), zombieAfterMs);
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

/**
 * Terminates a thread anew if it does not go. V8 forgets a termination (Node 20 to 26) that meets an evaluation of the inspector, as a
 * look into a stuck thread is one: code that never ends would go on. Native code is left alone after the last time.
 */
function endSurely(thread: Worker, nextMs = terminateAgainMs): void {
  if (nextMs > lastTerminateMs) return;
  const timer = setTimeout(() => {
    if (thread.threadId === -1) return;
    void thread.terminate();
    endSurely(thread, nextMs * 2);
  }, nextMs);
  timer.unref();
}

const outOfMemory = 'ERR_WORKER_OUT_OF_MEMORY';
const noThread = 'ERR_WORKER_INIT_FAILED';

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
  if (codeOf(error) === noThread)
    return { end: 'error', detail: `the system gives this process no thread (${detail})` };
  return { end: detail.startsWith(exitMessage) ? 'exit' : 'error', detail };
}
