import { inTurns } from '../../core/base/timer.ts';
import type { MetricsSnapshot } from '../../core/observe/snapshot.ts';

/** Most procedures whose figures are sent. */
const most = 200;

/** Rows that are looked at in one turn of the event loop: less than a millisecond. */
const perTurn = 50;

/**
 * Chooses whose figures are sent: the procedures whose calls changed last. What had changed stays among them while
 * fewer others change, so a viewer who misses a text sees each change in a later one.
 */
export class ShownProcedures {
  /** How many calls of each procedure had ended at the last look; those that changed last stand last. */
  readonly #calls = new Map<string, number>();

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
    await inTurns(sums, perTurn, ([procedure, calls]) => {
      if (this.#calls.get(procedure) === calls) return;
      this.#calls.delete(procedure);
      this.#calls.set(procedure, calls);
    });
    const shown = new Set([...this.#calls.keys()].slice(-most));
    for (const name of names) {
      if (shown.size >= most) break;
      shown.add(name);
    }
    return shown;
  }
}
