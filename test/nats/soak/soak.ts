import { orHang } from '../../or-hang.ts';
import type { Lifetime } from '../apps.ts';
import { faults, type SoakRow } from './faults.ts';

/** Ends what a fault's world has started, the latest first. */
class Ends implements Lifetime {
  readonly #ends: (() => Promise<void>)[] = [];

  after(end: () => Promise<void>): void {
    this.#ends.push(end);
  }

  async end(): Promise<void> {
    for (const end of this.#ends.toReversed()) await end();
  }
}

/**
 * Runs each fault of the table against a real nats-server, with members in processes of their own.
 *
 * @param onRow called for each line when it is known
 */
export async function soakNats(onRow: (row: SoakRow) => void): Promise<readonly SoakRow[]> {
  const rows: SoakRow[] = [];
  for (const run of faults) {
    const lifetime = new Ends();
    try {
      for (const row of await orHang(`fault ${rows.length + 1}`, run(lifetime))) {
        rows.push(row);
        onRow(row);
      }
    } finally {
      await lifetime.end();
    }
  }
  return rows;
}
