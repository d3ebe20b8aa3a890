import { type StreamFlow, streamWindow } from './contract.ts';

/**
 * Grants a stream its window again as its values are taken: in halves, so that a value seldom costs a message to the
 * thread that makes it.
 */
export class ValueWindow {
  readonly #flow: StreamFlow;
  #values = 0;
  #characters = 0;

  constructor(flow: StreamFlow) {
    this.#flow = flow;
  }

  /** Lets the stream begin. */
  open(): void {
    this.#flow.grant(streamWindow.values, streamWindow.characters);
  }

  /** The reader has done with a value of so many characters. */
  taken(characters: number): void {
    this.#values++;
    this.#characters += characters;
    const isHalf =
      this.#values * 2 >= streamWindow.values || this.#characters * 2 >= streamWindow.characters;
    if (!isHalf) return;
    const values = this.#values;
    const granted = this.#characters;
    this.#values = 0;
    this.#characters = 0;
    this.#flow.grant(values, granted);
  }
}
