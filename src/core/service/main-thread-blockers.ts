import { cached } from '../base/cached.ts';
import { clockMs } from '../base/clock.ts';
import { runningCode } from '../base/running-code.ts';
import { type MainThreadWatch, suspectOf } from '../dispatch/main-thread-watch.ts';
import { Episode } from '../observe/episode.ts';
import type { Log } from '../observe/log.ts';
import type { BlockedTotals } from '../observe/snapshot.ts';

/** How often something has held the main thread for too long, and how long. */
export interface BlockedFigures {
  readonly times: number;
  /** In all. */
  readonly ms: number;
  readonly longestMs: number;
}

/** What holds the main thread a minute apart is one episode. */
const quietMs = 60_000;

/** What has blocked the main thread since the process started, by name. */
export class MainThreadBlockers {
  readonly #log: Log;
  readonly #blockers = new Map<string, { figures: BlockedFigures; episode: Episode }>();
  /** What the warning says beside the name. */
  #ms = 0;
  #advice = '';

  constructor(log: Log) {
    this.#log = log;
  }

  /**
   * Counts, and warns at the beginning of an episode.
   *
   * @param name a registered procedure, or a hook in parentheses: so they are as bounded as what is registered
   * @param advice what to do
   */
  note(name: string, ms: number, advice: string): void {
    const blocker = cached(this.#blockers, name, () => {
      return { figures: { times: 0, ms: 0, longestMs: 0 }, episode: this.#episodeOf(name) };
    });
    const { times, ms: before, longestMs } = blocker.figures;
    blocker.figures = { times: times + 1, ms: before + ms, longestMs: Math.max(longestMs, ms) };
    this.#ms = ms;
    this.#advice = advice;
    blocker.episode.note();
  }

  get figures(): Readonly<Record<string, BlockedFigures>> {
    const all = Array.from(this.#blockers, ([name, { figures }]) => [name, figures]);
    return Object.freeze(Object.fromEntries(all));
  }

  totals(): BlockedTotals[] {
    return Array.from(this.#blockers, ([procedure, { figures }]) => {
      return { procedure, times: figures.times, seconds: figures.ms / 1000 };
    });
  }

  close(): void {
    for (const { episode } of this.#blockers.values()) episode.close();
  }

  #episodeOf(method: string): Episode {
    return new Episode(quietMs, {
      begins: () => {
        const ms = Math.round(this.#ms);
        this.#log.warn(
          { event: 'main-thread-blocked', method, ms },
          `${method} held the main thread for ${ms} ms, and every other call waited: ${this.#advice}`,
        );
      },
      ends: ({ count, ms }) => {
        if (count === 1) return;
        this.#log.warn(
          { event: 'main-thread-freed', method, count, ms },
          `${method} holds the main thread no longer`,
        );
      },
    });
  }
}

/** `run`, where a call that holds the main thread for too long is told of under `name`. */
export function watchRuns<A extends unknown[], R>(
  watch: MainThreadWatch,
  blockers: MainThreadBlockers,
  name: string,
  run: (...args: A) => R,
): (...args: A) => R {
  const owner = suspectOf(name, (ms) => blockers.note(name, ms, 'it runs for every request'));
  return (...args) => {
    const began = clockMs();
    const lag = watch.lagAt(began);
    const claimed = watch.claimedMs;
    const outer = runningCode.enter(owner.slot);
    try {
      return run(...args);
    } finally {
      runningCode.leave(outer);
      watch.ended(owner, began, lag, claimed);
    }
  };
}
