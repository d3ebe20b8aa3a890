import { addTotals, type MetricsSnapshot, type Totals } from '../observe/snapshot.ts';
import type { ServerProcess } from './server-process.ts';

/** A process that does not answer a scrape by then is held up: what it said last stands for it. */
const answerMs = 1000;

/**
 * The figures of all processes of a service, so that a scrape of any gives the whole. What those that have
 * ended had counted stays in the sums: no counter falls.
 */
export class Tally {
  readonly #last = new Map<ServerProcess, MetricsSnapshot>();
  #ended: Totals | undefined;

  /** Counts a process from now on. */
  add(server: ServerProcess): void {
    void server.ended.then(({ snapshot }) => {
      const last = snapshot ?? this.#last.get(server);
      this.#last.delete(server);
      if (last === undefined) return;
      this.#ended = this.#ended === undefined ? last : addTotals([this.#ended, last]);
    });
  }

  /**
   * @param servers those that live
   * @param serving those of them that are to be seen by themselves, not only in the sums
   */
  async collect(
    servers: Iterable<ServerProcess>,
    serving: ReadonlySet<ServerProcess>,
  ): Promise<readonly MetricsSnapshot[]> {
    const asked = [...servers];
    await Promise.all(
      asked.map(async (server) => {
        const snapshot = await server.collect(answerMs);
        if (snapshot !== undefined) this.#last.set(server, snapshot);
      }),
    );
    // Read in one turn, so that each is among the living or the ended, and in neither twice.
    const snapshots: MetricsSnapshot[] = [];
    for (const [server, { calls, counters, gauges }] of this.#last) {
      const process = String(server.number);
      snapshots.push({
        process,
        calls,
        counters,
        gauges: serving.has(server) ? gauges : undefined,
      });
    }
    if (this.#ended !== undefined) {
      const { calls, counters } = this.#ended;
      snapshots.push({ process: 'ended', calls, counters, gauges: undefined });
    }
    return snapshots;
  }
}
