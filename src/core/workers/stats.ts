export interface WorkerStats {
  readonly threadId: number;
  readonly inFlight: number;
  readonly completed: number;
  /** Streams that are open there. */
  readonly streams: number;
  /**
   * Calls and generators that still run there although nobody waits for them: their callers have left. `overdue`: their
   * deadline has passed.
   */
  readonly left: number;
  readonly overdue: number;
  /** Whose synchronous code the thread is in; undefined: nobody's. */
  readonly running: RunningCall | undefined;
}

/** What holds a thread: a call, or the generator of a stream. */
export interface RunningCall {
  readonly procedure: string;
  /** For how long it does, milliseconds. */
  readonly ms: number;
}

/**
 * What has happened in the pools of a service since its start. Each loading of the modules has pools of its own; the
 * counters go on.
 */
export class PoolCounters {
  /** Messages with calls, and the calls in them. */
  frames = 0;
  framedCalls = 0;
  /** Threads that ended by themselves, by cause. */
  readonly deaths = { exit: 0, memory: 0, error: 0 };
  /** Threads terminated at a deadline. */
  kills = 0;
  /** Calls that ended on the express lane. */
  laneCalls = 0;
  /** Threads that were replaced because they had grown old. */
  retirements = 0;
  /** Threads started in place of lost ones. */
  restarts = 0;
  /** Terminated threads that native code kept alive, for a while or for ever. */
  zombies = 0;
  /** Zombies that are still there. */
  zombiesNow = 0;
}

/** The counters of a service, for each group of workers. */
export class CountersByGroup {
  readonly #byGroup = new Map<string | undefined, PoolCounters>();

  /** @param group undefined: the workers of procedures that name no group */
  of(group: string | undefined): PoolCounters {
    let counters = this.#byGroup.get(group);
    if (counters === undefined) {
      counters = new PoolCounters();
      this.#byGroup.set(group, counters);
    }
    return counters;
  }

  /** The groups that have had workers. */
  get groups(): string[] {
    return [...this.#byGroup.keys()].filter((group) => group !== undefined);
  }
}

export interface PoolStats {
  readonly workers: readonly WorkerStats[];
  /** The spare that takes short calls; undefined: the lane is closed. */
  readonly lane: WorkerStats | undefined;
  readonly spares: number;
  /** Threads that load the modules. */
  readonly starting: number;
  readonly queued: number;
  /** Threads that ended by themselves since the service's start, and threads terminated at a deadline: see `PoolCounters`. */
  readonly deaths: number;
  readonly kills: number;
  /** Terminated threads that native code does not let go. */
  readonly zombies: number;
}
