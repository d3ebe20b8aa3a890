import { setImmediate as nextTurn } from 'node:timers/promises';
import { clockMs } from '../../core/base/clock.ts';
import { messageOf } from '../../core/base/message-of.ts';
import { isDoneWithin, startTimer } from '../../core/base/timer.ts';
import type { ProfiledThreads } from '../../core/service/dispatcher.ts';
import { type InspectedThread, InspectedThreads } from '../../core/workers/inspected-threads.ts';
import type { Profile, ThreadProfile } from './analysis.ts';

/** What is asked for. */
export interface ProfileOrder {
  readonly seconds: number;
  readonly intervalMs: number;
}

const longestSeconds = 60;

/** Between two samples, milliseconds. At 1 ms a call costs 20 to 30% more. */
const [shortestMs, longestMs] = [1, 1000];

/** How long a thread that is not in native code may take to begin, and to hand in its samples, milliseconds. */
const answerMs = 5000;

/** How often it is asked whether the service ends, milliseconds. */
const endingMs = 100;

/** Why there is no profile. One line. */
export class ProfileError extends Error {
  override readonly name = 'ProfileError';
  /** `order`: the order is wrong. `busy`: another profile is under way. `left`: the client has gone, or the service ends. `denied`: the process may not. */
  readonly reason: 'order' | 'busy' | 'left' | 'denied';

  constructor(reason: ProfileError['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
}

/** Why an order can't be; undefined: it can. */
function refusalOf({ seconds, intervalMs }: ProfileOrder): string | undefined {
  if (!(seconds > 0 && seconds <= longestSeconds))
    return `seconds: expected more than 0 and at most ${longestSeconds}`;
  if (!(intervalMs >= shortestMs && intervalMs <= longestMs))
    return `intervalMs: expected ${shortestMs} to ${longestMs}`;
  return undefined;
}

let isUnderWay = false;

/**
 * Takes a CPU profile of the main thread and of each worker. It begins when all threads have begun: that stops the main thread once,
 * for about 0.1 s, since V8 writes down all code that there is. Threads that start later are not in it.
 *
 * @param left stops the profile: the client has gone
 * @throws ProfileError (rejects)
 */
export async function takeProfile(
  covered: ProfiledThreads,
  order: ProfileOrder,
  left: AbortSignal,
): Promise<Profile> {
  const refusal = refusalOf(order);
  if (refusal !== undefined) throw new ProfileError('order', refusal);
  if (isUnderWay) {
    throw new ProfileError(
      'busy',
      'a profile of this process is under way: there is one at a time',
    );
  }
  isUnderWay = true;
  let threads: InspectedThreads | undefined;
  try {
    threads = await connect(covered);
    return await new Profiling(covered, threads, order, left).run();
  } finally {
    threads?.disconnect();
    isUnderWay = false;
  }
}

async function connect({ workers }: ProfiledThreads): Promise<InspectedThreads> {
  try {
    return await InspectedThreads.connect(workers.map(({ threadId }) => threadId));
  } catch (error) {
    const why = `this process may not use the inspector: ${messageOf(error)}`;
    throw new ProfileError('denied', why);
  }
}

class Profiling {
  readonly #covered: ProfiledThreads;
  readonly #main: InspectedThread;
  readonly #workers: readonly InspectedThread[];
  readonly #order: ProfileOrder;
  readonly #left: Promise<void>;
  #hasLeft: boolean;
  /** Why there is nothing of a thread. */
  readonly #failures = new Map<InspectedThread, string>();

  constructor(
    covered: ProfiledThreads,
    { main, workers }: InspectedThreads,
    order: ProfileOrder,
    left: AbortSignal,
  ) {
    this.#covered = covered;
    this.#main = main;
    this.#workers = workers;
    this.#order = order;
    this.#hasLeft = left.aborted;
    this.#left = new Promise((resolve) => {
      left.addEventListener('abort', () => {
        this.#hasLeft = true;
        resolve();
      });
    });
  }

  async run(): Promise<Profile> {
    const { seconds, intervalMs } = this.#order;
    await this.#each(this.#workers, (thread) => this.#begin(thread));
    // In a turn of its own: no call that runs is taken for what stops the thread.
    await nextTurn();
    this.#stopIfLeft();
    await this.#each([this.#main], (thread) => this.#begin(thread));
    const began = clockMs();
    await this.#wait(seconds * 1000);
    this.#stopIfLeft();
    const texts = new Map<InspectedThread, string>();
    const ms = clockMs() - began;
    const all = [this.#main, ...this.#workers];
    await this.#each(all, async (thread) => {
      texts.set(thread, profileIn(await thread.ask('Profiler.stop')));
    });
    const threads = all.map((thread) => this.#resultOf(thread, texts.get(thread)));
    return { ms: Math.round(ms), intervalMs, threads };
  }

  async #begin(thread: InspectedThread): Promise<void> {
    await thread.ask('Profiler.enable');
    const interval = Math.round(this.#order.intervalMs * 1000);
    await thread.ask('Profiler.setSamplingInterval', { interval });
    await thread.ask('Profiler.start');
  }

  /** Does a step in each thread that has not failed, at the same time. */
  async #each(
    threads: readonly InspectedThread[],
    step: (thread: InspectedThread) => Promise<void>,
  ): Promise<void> {
    const steps = threads.map(async (thread) => {
      if (this.#failures.has(thread)) return;
      const done = step(thread).catch((error: unknown) => {
        this.#failures.set(thread, messageOf(error));
      });
      const isDone = await isDoneWithin(Promise.race([done, this.#left]), answerMs);
      if (!isDone) this.#failures.set(thread, `no answer within ${answerMs} ms: in native code`);
    });
    await Promise.all(steps);
  }

  async #wait(ms: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    let ending: NodeJS.Timeout | undefined;
    const over = new Promise<void>((resolve) => {
      timer = startTimer(ms, resolve);
      ending = setInterval(() => this.#covered.isEnding() && resolve(), endingMs);
    });
    await Promise.race([over, this.#left]);
    clearTimeout(timer);
    clearInterval(ending);
  }

  #stopIfLeft(): void {
    if (this.#hasLeft) throw new ProfileError('left', 'whoever asked for the profile has gone');
    if (this.#covered.isEnding()) throw new ProfileError('left', 'the service ends');
  }

  /** @param profile its text; undefined: there is none */
  #resultOf(thread: InspectedThread, profile: string | undefined): ThreadProfile {
    const { threadId } = thread;
    const head = { name: this.#nameOf(threadId), threadId };
    const error = this.#failures.get(thread);
    if (error === undefined && profile !== undefined) return { ...head, profile };
    return { ...head, error: error ?? 'it gave no profile' };
  }

  #nameOf(threadId: number): string {
    if (threadId === 0) return 'main';
    const group = this.#covered.workers.find((worker) => worker.threadId === threadId)?.group;
    return `worker-${group === undefined ? '' : `${group}-`}${threadId}`;
  }
}

function profileIn(result: string): string {
  // `{"profile":{...}}`
  return result.slice(result.indexOf(':') + 1, -1);
}
