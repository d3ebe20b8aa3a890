import { inlinePlace, type Place } from '../base/place.ts';
import { didYouMean, suggest } from '../base/suggest.ts';
import { startTimer } from '../base/timer.ts';
import type { Config } from '../config/config.ts';
import type { LoadedModules } from '../modules/modules.ts';
import type { Log } from '../observe/log.ts';
import type {
  BroadcastOutcome,
  BroadcastReplay,
  BroadcastRequest,
  BroadcastResult,
  BroadcastRun,
} from '../procedures/broadcast.ts';
import type { WorkerBroadcasts } from '../workers/options.ts';
import type { Pool } from '../workers/pool.ts';
import { logBroadcastFault } from './worker-log.ts';

/** One thread's copy of the modules. */
export interface Replica {
  readonly place: Place;
  /** Never rejects. */
  run(broadcast: BroadcastRun): Promise<BroadcastOutcome>;
}

/** One loading of the modules, by its copies. */
export interface Replicas {
  /**
   * The copies that exist, those that load among them.
   *
   * @param group undefined: those of all threads
   */
  replicas(group: string | undefined): readonly Replica[];
}

/** The loading that serves. */
interface Serving extends Replicas {
  /** undefined: what is served is a router that no module exports. */
  readonly broadcastNames: readonly string[] | undefined;
  /** The groups that have workers. */
  readonly groups: readonly string[];
  /** Its threads are there until the answer is. */
  track<R>(answer: Promise<R>): Promise<R>;
}

interface Loadings {
  /** undefined: nothing serves. */
  readonly current: Serving | undefined;
  /** The one that a reload prepares. */
  readonly next: Replicas | undefined;
}

/**
 * Sends the broadcasts of a service to the threads of this process. A broadcast reaches in one step each thread that exists,
 * and each thread that starts later is given what is replayed as it starts. So a thread gets each broadcast once, and those
 * of one name in their order, whatever is replaced or reloaded meanwhile.
 */
export class ServiceBroadcasts implements WorkerBroadcasts {
  readonly #config: Pick<Config, 'timeoutMs' | 'maxBodyBytes'>;
  readonly #replays = new Replays();
  #loadings: Loadings = { current: undefined, next: undefined };

  constructor(config: Pick<Config, 'timeoutMs' | 'maxBodyBytes'>) {
    this.#config = config;
  }

  attach(loadings: Loadings): void {
    this.#loadings = loadings;
  }

  /**
   * Runs a broadcast. Threads of a loading that a reload prepares run it too, and are not in the answer.
   *
   * @throws Error (rejects) for names that do not exist, and if nothing serves
   */
  async send(request: BroadcastRequest): Promise<BroadcastResult[]> {
    const { name, params, group, timeoutMs = this.#config.timeoutMs } = request;
    const { current, next } = this.#loadings;
    if (current === undefined) throw new Error('broadcast: the service is closed');
    this.#assertPossible(request, current);
    this.#replays.note(request);
    const run: BroadcastRun = { name, params, timeoutMs };
    for (const replica of next?.replicas(group) ?? []) void replica.run(run);
    return current.track(resultsWithin(current.replicas(group), run));
  }

  replaysFor(group: string | undefined): readonly BroadcastReplay[] {
    return this.#replays.for(group);
  }

  /** Other modules serve: forgets what they have no broadcast for. */
  keepOnly(names: readonly string[]): void {
    this.#replays.keepOnly(names);
  }

  #assertPossible(request: BroadcastRequest, current: Serving): void {
    const { name, group, params } = request;
    const { broadcastNames: names, groups } = current;
    if (names === undefined) {
      throw new Error(
        'broadcast: a router that is given as an object has no broadcasts: serve its module with the option modules',
      );
    }
    if (!names.includes(name)) {
      const known = names.length === 0 ? 'none is exported' : `there are ${names.join(', ')}`;
      throw new Error(
        `broadcast: no module exports broadcasts.${name}: ${known}${didYouMean(suggest(name, names))}`,
      );
    }
    if (group !== undefined && !groups.includes(group)) {
      const known = groups.length === 0 ? 'there are no groups' : `there are ${groups.join(', ')}`;
      throw new Error(
        `broadcast: no group ${JSON.stringify(group)} has workers: ${known}${didYouMean(suggest(group, groups))}`,
      );
    }
    const { maxBodyBytes } = this.#config;
    if (params !== undefined && Buffer.byteLength(params) > maxBodyBytes) {
      throw new TypeError(`broadcast: params are longer than maxBodyBytes (${maxBodyBytes})`);
    }
  }
}

/**
 * The copies of one loading.
 *
 * @param modules undefined: the main thread has no copy
 */
export function replicasOf(
  modules: LoadedModules | undefined,
  pools: ReadonlyMap<string | undefined, Pool>,
  group: string | undefined,
  log: Log,
): Replica[] {
  const meant = group === undefined ? [...pools.values()] : [pools.get(group)];
  const workers = meant.flatMap((pool) => {
    if (pool === undefined) return [];
    const { place } = pool;
    return pool.workers.replicas.map((worker) => ({
      place,
      run: (run: BroadcastRun) => worker.broadcast(run),
    }));
  });
  if (modules === undefined || group !== undefined) return workers;
  const run = async (broadcast: BroadcastRun): Promise<BroadcastOutcome> => {
    const outcome = await modules.broadcasts.run(broadcast);
    if (!outcome.ok && outcome.detail !== undefined)
      logBroadcastFault(log, inlinePlace)(broadcast.name, outcome.detail);
    return outcome;
  };
  return [{ place: inlinePlace, run }, ...workers];
}

async function resultsWithin(
  replicas: readonly Replica[],
  run: BroadcastRun,
): Promise<BroadcastResult[]> {
  const { timeoutMs } = run;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<BroadcastOutcome>((resolve) => {
    const text = `no answer after ${timeoutMs} ms: the thread is busy, or the function has not ended, and it may still run`;
    timer = startTimer(timeoutMs, () => resolve({ ok: false, text }));
  });
  const results = replicas.map(async (replica) => {
    return toResult(replica.place, await Promise.race([replica.run(run), late]));
  });
  try {
    return await Promise.all(results);
  } finally {
    clearTimeout(timer);
  }
}

function toResult(place: Place, { ok, text }: BroadcastOutcome): BroadcastResult {
  if (!ok) return { place, ok, error: text };
  try {
    return { place, ok, value: JSON.parse(text) as unknown };
  } catch {
    // Code in the worker has written it.
    return { place, ok: false, error: 'it answered what is no JSON' };
  }
}

/** The params of the last call of each name, for threads that start later. */
class Replays {
  /** By name and group; undefined: the call for all threads. A later call for all threads removes those for groups. */
  readonly #last = new Map<string, Map<string | undefined, BroadcastRequest>>();

  note(request: BroadcastRequest): void {
    const { name, group, isReplayed } = request;
    const calls = group === undefined ? undefined : this.#last.get(name);
    if (calls !== undefined) calls.set(group, request);
    else if (isReplayed) this.#last.set(name, new Map([[group, request]]));
    else if (group === undefined) this.#last.delete(name);
  }

  for(group: string | undefined): BroadcastReplay[] {
    return [...this.#last.values()].flatMap((calls) => {
      const last = calls.get(group) ?? calls.get(undefined);
      return last?.isReplayed === true ? [{ name: last.name, params: last.params }] : [];
    });
  }

  keepOnly(names: readonly string[]): void {
    for (const name of this.#last.keys()) if (!names.includes(name)) this.#last.delete(name);
  }
}
