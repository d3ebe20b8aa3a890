/** Writes a line for each suite, with the remaining time. */
export class Progress {
  readonly #total: number;
  readonly #began = performance.now();
  #done = 0;
  #suite = '';

  /** @param total the estimated seconds of the run */
  constructor(total: number) {
    this.#total = total;
  }

  step(what: string, seconds: number): void {
    this.#done += seconds;
    const suite = what.slice(0, what.indexOf(':'));
    if (suite === this.#suite) return;
    this.#suite = suite;
    console.error(`${suite}, ${duration(this.#left())} left`);
  }

  /** Remaining seconds, corrected by how wrong the estimate was so far. */
  #left(): number {
    const elapsed = (performance.now() - this.#began) / 1000;
    const pace = this.#done > 5 ? elapsed / this.#done : 1;
    return Math.max(0, this.#total - this.#done) * pace;
  }
}

export function duration(seconds: number): string {
  const whole = Math.ceil(seconds);
  const minutes = Math.floor(whole / 60);
  return minutes === 0 ? `${whole} s` : `${minutes} min ${whole % 60} s`;
}
