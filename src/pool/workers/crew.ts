import type { WorkerState } from './worker-state.ts';

/** The workers that take calls, and the warm spares that stand behind them. */
export class Crew {
  /** All workers that have loaded, in the order in which they came. */
  readonly all: WorkerState[] = [];
  /** Workers that take all calls. A worker that retires is among them, and its place counts as free. */
  readonly active: WorkerState[] = [];
  readonly #places: number;
  readonly #spares: WorkerState[] = [];

  /** @param places how many workers take all calls at a time */
  constructor(places: number) {
    this.#places = places;
  }

  /** Spares that could take a free place. */
  get spares(): number {
    let spares = 0;
    for (const worker of this.#spares) if (!worker.isRetiring) spares++;
    return spares;
  }

  /** The spare whose turn to take a place is next. */
  get nextSpare(): WorkerState | undefined {
    return this.#spares.find((worker) => !worker.isRetiring);
  }

  get isComplete(): boolean {
    return this.active.length === this.#places;
  }

  addSpare(worker: WorkerState): void {
    this.all.push(worker);
    this.#spares.push(worker);
  }

  /**
   * Puts spares into free places.
   *
   * @returns false where no place was free, or there is no spare
   */
  fill(): boolean {
    let free = this.#places;
    for (const worker of this.active) if (!worker.isRetiring) free--;
    const joining = this.#spares.filter((worker) => !worker.isRetiring).slice(0, free);
    for (const worker of joining) {
      removeFrom(this.#spares, worker);
      this.active.push(worker);
    }
    return joining.length > 0;
  }

  /** @returns false: it was not here */
  remove(worker: WorkerState): boolean {
    removeFrom(this.#spares, worker);
    removeFrom(this.active, worker);
    return removeFrom(this.all, worker);
  }
}

function removeFrom(workers: WorkerState[], worker: WorkerState): boolean {
  const index = workers.indexOf(worker);
  if (index !== -1) workers.splice(index, 1);
  return index !== -1;
}
