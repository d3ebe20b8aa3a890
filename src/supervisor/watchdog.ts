/** How often it looks within its limit. */
const looks = 4;

/**
 * Calls `onSilence` once when nothing was heard for `limitMs`, and a quarter of that longer at most. It counts
 * looks, not time: where its own process was held up, what had come meanwhile is heard before the next look.
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
