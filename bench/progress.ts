import { Presets, SingleBar } from 'cli-progress';

/** Shows progress: on a terminal a bar with the remaining time, elsewhere a line for each suite. */
export class Progress {
  readonly #total: number;
  readonly #began = performance.now();
  readonly #bar: SingleBar | undefined;
  #done = 0;
  #suite = '';

  /** @param total the estimated seconds of the run */
  constructor(total: number) {
    this.#total = total;
    if (!process.stderr.isTTY) return;
    const format = '{bar} {percentage}% | {left} left | {what}';
    const options = { format, stream: process.stderr, hideCursor: true, barsize: 24 };
    this.#bar = new SingleBar({ ...options, clearOnComplete: true }, Presets.shades_classic);
    this.#bar.start(total, 0, { left: duration(total), what: '' });
  }

  step(what: string, seconds: number): void {
    this.#done += seconds;
    const left = duration(this.#left());
    this.#bar?.update(Math.min(this.#done, this.#total), { left, what });
    const suite = what.slice(0, what.indexOf(':'));
    if (this.#bar !== undefined || suite === this.#suite) return;
    this.#suite = suite;
    console.error(`${suite}, ${left} left`);
  }

  stop(): void {
    this.#bar?.stop();
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
