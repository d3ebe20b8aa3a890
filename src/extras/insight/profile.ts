import { setImmediate as nextTurn } from 'node:timers/promises';
import { clockMs } from '../../core/base/clock.ts';
import { messageOf } from '../../core/base/message-of.ts';
import { isDoneWithin, startTimer } from '../../core/base/timer.ts';
import type { ProfiledThreads } from '../../core/service/dispatcher.ts';
import {
  InspectedMain,
  type InspectedThread,
  inspectedWorkers,
} from '../../core/workers/inspected-threads.ts';
import type { Profile, ThreadProfile } from './analysis.ts';

/** What is asked for. */
export interface ProfileOrder {
  readonly seconds: number;
  readonly intervalMs: number;
}

const maxSeconds = 60;

/** Between two samples, milliseconds. At 1 ms a call costs 20 to 30% more. */
const [minMs, maxMs] = [1, 1000];

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
  if (!(seconds > 0 && seconds <= maxSeconds))
    return `seconds: expected more than 0 and at most ${maxSeconds}`;
  if (!(intervalMs >= minMs && intervalMs <= maxMs))
    return `intervalMs: expected ${minMs} to ${maxMs}`;
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
  let threads: Threads | undefined;
  try {
    threads = connect(covered);
    return await profileOf(covered, threads, order, left);
  } finally {
    threads?.main.disconnect();
    // A thread that has not answered begins when it comes to it: it is told to end then, too.
    for (const thread of threads?.workers ?? []) thread.ask('Profiler.disable').catch(() => {});
    isUnderWay = false;
  }
}

interface Threads {
  readonly main: InspectedMain;
  readonly workers: readonly InspectedThread[];
}

function connect({ workers }: ProfiledThreads): Threads {
  try {
    const inspected = inspectedWorkers(workers.map(({ threadId }) => threadId));
    return { main: new InspectedMain(), workers: inspected };
  } catch (error) {
    const why = `this process may not use the inspector: ${messageOf(error)}`;
    throw new ProfileError('denied', why);
  }
}

async function profileOf(
  covered: ProfiledThreads,
  { main, workers }: Threads,
  { seconds, intervalMs }: ProfileOrder,
  left: AbortSignal,
): Promise<Profile> {
  /** Why there is nothing of a thread. */
  const failures = new Map<InspectedThread, string>();
  const hasLeft = new Promise<void>((resolve) => {
    left.addEventListener('abort', () => resolve());
  });
  const stopIfLeft = (): void => {
    if (left.aborted) throw new ProfileError('left', 'whoever asked for the profile has gone');
    if (covered.isEnding()) throw new ProfileError('left', 'the service ends');
  };
  /** Does a step in each thread that has not failed, at the same time. */
  const each = async (
    threads: readonly InspectedThread[],
    step: (thread: InspectedThread) => Promise<void>,
  ): Promise<void> => {
    const steps = threads.map(async (thread) => {
      if (failures.has(thread)) return;
      const done = step(thread).catch((error: unknown) => {
        failures.set(thread, messageOf(error));
      });
      const isDone = await isDoneWithin(Promise.race([done, hasLeft]), answerMs);
      if (!isDone) failures.set(thread, `no answer within ${answerMs} ms: in native code`);
    });
    await Promise.all(steps);
  };
  const begin = async (thread: InspectedThread): Promise<void> => {
    const interval = Math.round(intervalMs * 1000);
    // At once: a profile that is left ends what it has begun, so nothing may begin after that.
    await Promise.all([
      thread.ask('Profiler.enable'),
      thread.ask('Profiler.setSamplingInterval', { interval }),
      thread.ask('Profiler.start'),
    ]);
  };
  await each(workers, begin);
  // In a turn of its own: no call that runs is taken for what stops the thread.
  await nextTurn();
  stopIfLeft();
  await each([main], begin);
  const began = clockMs();
  await pause(seconds * 1000, hasLeft, () => covered.isEnding());
  stopIfLeft();
  const texts = new Map<InspectedThread, string>();
  const ms = clockMs() - began;
  const all = [main, ...workers];
  await each(all, async (thread) => {
    texts.set(thread, profileIn(await thread.ask('Profiler.stop')));
  });
  const threads = all.map((thread): ThreadProfile => {
    const { threadId } = thread;
    const group = covered.workers.find((worker) => worker.threadId === threadId)?.group;
    const worker = `worker-${group === undefined ? '' : `${group}-`}${threadId}`;
    const head = { name: threadId === 0 ? 'main' : worker, threadId };
    const [profile, error] = [texts.get(thread), failures.get(thread)];
    if (error === undefined && profile !== undefined) return { ...head, profile };
    return { ...head, error: error ?? 'it gave no profile' };
  });
  return { ms: Math.round(ms), intervalMs, threads };
}

async function pause(ms: number, hasLeft: Promise<void>, isEnding: () => boolean): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  let ending: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => {
    timer = startTimer(ms, resolve);
    ending = setInterval(() => isEnding() && resolve(), endingMs);
  });
  await Promise.race([over, hasLeft]);
  clearTimeout(timer);
  clearInterval(ending);
}

function profileIn(result: string): string {
  // `{"profile":{...}}`
  return result.slice(result.indexOf(':') + 1, -1);
}
