import type { Place } from '../base/place.ts';
import { didYouMean, suggest } from '../base/suggest.ts';
import { startTimer } from '../base/timer.ts';
import type {
  BroadcastOutcome,
  BroadcastReplay,
  BroadcastRequest,
  BroadcastResult,
  BroadcastRun,
} from '../procedures/broadcast.ts';

/** One thread's copy of the modules. */
export interface Replica {
  readonly place: Place;
  /** Never rejects. */
  run(broadcast: BroadcastRun): Promise<BroadcastOutcome>;
}

/**
 * Whether a broadcast can be run.
 *
 * @param names of the broadcasts there are; undefined: what is served is a router that no module exports
 * @param groups those that have workers
 * @throws Error, TypeError that says what is wrong
 */
export function assertPossible(
  { name, group, params }: BroadcastRequest,
  names: readonly string[] | undefined,
  groups: readonly string[],
  maxBodyBytes: number,
): void {
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
  if (params !== undefined && Buffer.byteLength(params) > maxBodyBytes) {
    throw new TypeError(`broadcast: params are longer than maxBodyBytes (${maxBodyBytes})`);
  }
}

/** Runs a broadcast in each copy, and gives what it came to by its deadline. */
export async function resultsWithin(
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
export class Replays {
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
