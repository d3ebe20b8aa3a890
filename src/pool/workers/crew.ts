import type { WorkerState } from './worker-state.ts';

/** The workers that take calls, and the warm spares that stand behind them. */
export class Crew {
  /** Those that take calls. The one that retires is among them, and its place counts as free. */
  readonly active: WorkerState[] = [];
  readonly #places: number;
  readonly #spares: WorkerState[] = [];

  /** @param places how many take calls at a time */
  constructor(places: number) {
    this.#places = places;
  }

  get spares(): number {
    return this.#spares.length;
  }

  get isComplete(): boolean {
    return this.active.length === this.#places;
  }

  *[Symbol.iterator](): Generator<WorkerState> {
    yield* this.active;
    yield* this.#spares;
  }

  addSpare(worker: WorkerState): void {
    this.#spares.push(worker);
  }

  /** Puts spares in the places that are free. False: none was, or there is no spare. */
  fill(): boolean {
    let free = this.#places;
    for (const worker of this.active) if (!worker.isRetiring) free--;
    const joining = this.#spares.splice(0, free);
    this.active.push(...joining);
    return joining.length > 0;
  }

  /** What the worker was; undefined: it was not here (any more). */
  remove(worker: WorkerState): 'active' | 'spare' | undefined {
    const spare = this.#spares.indexOf(worker);
    if (spare !== -1) {
      this.#spares.splice(spare, 1);
      return 'spare';
    }
    const index = this.active.indexOf(worker);
    if (index === -1) return undefined;
    this.active.splice(index, 1);
    return 'active';
  }
}
