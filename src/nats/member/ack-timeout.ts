/**
 * Finds a gateway that acknowledges nothing. While replies go on there is nearly always one that is not acknowledged yet: what counts
 * is that the oldest of them stays the same. Pure: it knows no clock.
 */
export class AckTimeout {
  readonly #ms: number;
  #oldest: number | undefined;
  #since = 0;

  /** @param ms after which the gateway is asked, again and again */
  constructor(ms: number) {
    this.#ms = ms;
  }

  /**
   * To be called again and again.
   *
   * @param oldest the number of the oldest message that is not acknowledged; undefined: all are
   */
  isOver(oldest: number | undefined, now: number): boolean {
    if (oldest !== this.#oldest) {
      this.#oldest = oldest;
      this.#since = now;
    }
    if (oldest === undefined || now - this.#since <= this.#ms) return false;
    this.#since = now;
    return true;
  }
}
