import { type Plan, plan, plans } from '../plans.ts';
import { Caller } from './caller.ts';
import { pause } from './server.ts';
import type { Tally } from './tally.ts';

/** More than the server lets one caller have in flight. */
export const greedyCalls = 96;

/** Now and then with batches: more calls together than the server lets one caller make in a second. */
const batchesEvery = 5;
const batches = 5;
const batchLength = 100;

/** A caller that asks for much at once, and a polite one beside it that has one call at a time. */
export class Greedy {
  /** How long calls took that were not refused, milliseconds. */
  readonly waits: { readonly polite: number[]; readonly greedy: number[] } = {
    polite: [],
    greedy: [],
  };
  readonly #tally: Tally;
  readonly #greedy: Caller;
  readonly #polite: Caller;
  #bursts = 0;

  constructor(url: string, tally: Tally) {
    this.#tally = tally;
    this.#greedy = new Caller(url, tally, greedyCalls);
    this.#polite = new Caller(url, tally, 1);
  }

  /** All of its calls at once; the polite one calls until the last of them is answered. */
  async burst(): Promise<void> {
    let isOver = false;
    const withBatches = ++this.#bursts % batchesEvery === 0;
    const asked = [
      ...Array.from({ length: withBatches ? batches : 0 }, () =>
        plans(batchLength, 'echo', { method: 'in.act' }),
      ),
      ...plans(greedyCalls, 'slow', { method: 'costly' }).map((one) => [one]),
    ].map((some) => this.#send(this.#greedy, some, 'greedy'));
    const all = Promise.all(asked).finally(() => {
      isOver = true;
    });
    while (!isOver) {
      await this.#send(this.#polite, [plan('echo', { method: 'long' })], 'polite');
      await pause(5);
    }
    await all;
  }

  end(): void {
    this.#greedy.end();
    this.#polite.end();
  }

  async #send(caller: Caller, some: readonly Plan[], as: 'greedy' | 'polite'): Promise<void> {
    const row = this.#tally.row(as);
    const began = performance.now();
    const outcomes = await caller.send(
      some,
      () => row,
      (_plan, outcome) => outcome === 'ok',
      as,
    );
    if (outcomes.every((outcome) => outcome === 'ok'))
      this.waits[as].push(performance.now() - began);
  }
}
