import { inTurns } from '../base/turns.ts';
import type { MetricsSnapshot } from '../observe/snapshot.ts';

/** Most procedures whose figures are sent. */
const most = 200;

/** Rows that are looked at in one turn of the event loop: less than a millisecond. */
const perTurn = 50;

interface Known {
  calls: number;
  /** The number of the text in which its calls were first so many. */
  changed: number;
}

/**
 * Chooses whose figures are sent: the procedures whose calls changed last. What had changed stays among them while
 * fewer others change, so a viewer who misses a text sees each change in a later one.
 */
export class ShownProcedures {
  readonly #known = new Map<string, Known>();
  #texts = 0;

  /** @param names all procedures: where there is room, those that nobody called are shown too */
  async choose(
    snapshots: readonly MetricsSnapshot[],
    names: Iterable<string>,
  ): Promise<ReadonlySet<string>> {
    const sums = new Map<string, number>();
    const rows = snapshots.flatMap(({ calls }) => calls);
    await inTurns(rows, perTurn, ({ procedure, codes }) => {
      let calls = sums.get(procedure) ?? 0;
      for (const code in codes) calls += codes[code] ?? 0;
      sums.set(procedure, calls);
    });
    this.#texts++;
    for (const [procedure, calls] of sums) {
      const known = this.#known.get(procedure);
      if (known === undefined) this.#known.set(procedure, { calls, changed: this.#texts });
      else if (known.calls !== calls) Object.assign(known, { calls, changed: this.#texts });
    }
    const called = [...this.#known.keys()];
    if (called.length > most) {
      const changedAt = (name: string): number => this.#known.get(name)?.changed ?? 0;
      called.sort((a, b) => changedAt(b) - changedAt(a)).length = most;
    }
    const shown = new Set(called);
    for (const name of names) {
      if (shown.size >= most) break;
      shown.add(name);
    }
    return shown;
  }
}
