import { type StreamFlow, streamWindow, type WindowLimits } from './contract.ts';

/**
 * Grants a stream its window again as its values are taken: in halves, so that a value seldom costs a message to the
 * thread that makes it.
 */
export class ValueWindow {
  readonly #flow: StreamFlow;
  readonly #limits: WindowLimits;
  #values = 0;
  #characters = 0;

  constructor(flow: StreamFlow, limits: WindowLimits = streamWindow) {
    this.#flow = flow;
    this.#limits = limits;
  }

  /** Lets the stream begin. */
  open(): void {
    this.#flow.grant(this.#limits.values, this.#limits.characters);
  }

  /** The reader has done with a value of so many characters. */
  taken(characters: number): void {
    this.#values++;
    this.#characters += characters;
    const { values: most, characters: longest } = this.#limits;
    const isHalf = this.#values * 2 >= most || this.#characters * 2 >= longest;
    if (!isHalf) return;
    const values = this.#values;
    const granted = this.#characters;
    this.#values = 0;
    this.#characters = 0;
    this.#flow.grant(values, granted);
  }
}
