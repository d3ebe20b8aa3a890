/** How often the watchdog looks within its limit. */
const looks = 4;

/**
 * Calls `onSilence` once, when `heard` was not called for `limitMs` to `limitMs` and a quarter. The watchdog counts its
 * looks instead of time: after its own process was held up, messages that came meanwhile are read before the next look.
 *
 *     limitMs 4 s     heard  look  look  look  look  look
 *                       0     1     2     3     4     5 -> onSilence
 */
export class Watchdog {
  readonly #timer: NodeJS.Timeout;
  #inSilence = 0;

  constructor(limitMs: number, onSilence: () => void) {
    this.#timer = setInterval(() => {
      this.#inSilence++;
      if (this.#inSilence !== looks + 1) return;
      this.stop();
      onSilence();
    }, limitMs / looks);
  }

  heard(): void {
    this.#inSilence = 0;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
