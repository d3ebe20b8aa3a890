import { orHang } from '../../or-hang.ts';
import type { Lifetime } from '../apps.ts';
import { findNatsServer, needs } from '../nats-server.ts';
import { faults, type SoakRow } from './faults.ts';

/** The soak as a command: tells of each fault, prints the table. @returns the exit code */
export async function runNatsSoak(): Promise<number> {
  if (findNatsServer() === undefined) {
    console.error(needs);
    return 1;
  }
  const rows = await soakNats(({ fault, counts }) => {
    console.error(`${fault}: ${counts.calls} calls, ${counts.violations.length} violations`);
    for (const violation of counts.violations.slice(0, 20)) console.error(`  ${violation}`);
  });
  console.log(tableOf(rows));
  return rows.some(({ counts }) => counts.violations.length > 0) ? 1 : 0;
}

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
async function soakNats(onRow: (row: SoakRow) => void): Promise<readonly SoakRow[]> {
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

const milliseconds = (ms: number): string =>
  ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;

/** The table of docs/reliability.md. */
function tableOf(rows: readonly SoakRow[]): string {
  const lines = rows.map(({ fault, counts, recoveryMs }) => {
    const { calls, results, errors, lost, doubled, crossed, slowestMs } = counts;
    const kinds = [...errors].map(([error, count]) => `${count} × ${error}`).join(', ');
    const slowest = results === 0 ? '' : milliseconds(slowestMs);
    const recovery = recoveryMs === undefined ? '' : milliseconds(recoveryMs);
    const cells = [fault, calls, results, kinds, lost, doubled, crossed, slowest, recovery];
    return `| ${cells.join(' | ')} |`;
  });
  return [
    '| fault | calls | results | errors | lost | doubled | crossed | slowest result | recovery |',
    '|---|--:|--:|---|--:|--:|--:|--:|--:|',
    ...lines,
  ].join('\n');
}
