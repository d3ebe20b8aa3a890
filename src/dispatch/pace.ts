import type { Call } from './call.ts';

/** Calls that run inline in one turn of the event loop, as far as they belong to one batch. */
const callsPerTurn = 256;

/** Params of so many bytes count as one call more: 64 KiB of them fill a turn. */
const bytesPerCall = 256;

/**
 * Tells when a batch must let others have a turn. Each inline call is short by itself, but a thousand in a row would hold the
 * thread for long. Calls are counted, not timed: which batches are answered in the turn in which they arrived must not depend
 * on the machine.
 */
export class Pace {
  #left = callsPerTurn;

  /** Whether the turn is over, once a call has run here. */
  isOver({ start, end }: Call): boolean {
    this.#left -= 1 + Math.floor((end - start) / bytesPerCall);
    return this.#left <= 0;
  }

  /** Resolves when others have had their turn. */
  async turn(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.#left = callsPerTurn;
  }
}
