import { counterTable, zeroCounts } from '../../core/observe/metric-table.ts';
import { maxEvents, type RecentEvent } from '../../core/observe/recent-events.ts';
import { addTotals, type MetricsSnapshot, type Totals } from '../../core/observe/snapshot.ts';
import type { ServerProcess } from './server-process.ts';

/** How long a process may take to answer a scrape. Its last snapshot is used where it takes longer. */
const answerMs = 1000;

/** Of what serves nothing, or does not any more. */
const nothing: MetricsSnapshot = {
  process: '',
  calls: [],
  counters: zeroCounts(counterTable),
  blocked: [],
  gauges: undefined,
  places: [],
  groups: [],
  workers: [],
  events: [],
  callers: [],
  members: [],
};

/**
 * Keeps the figures of all processes of a service, so that a scrape of any process returns the whole. The counts of
 * processes that have ended stay in the sums, so no counter falls.
 */
export class ProcessMetrics {
  readonly #alive = new Set<ServerProcess>();
  readonly #last = new Map<ServerProcess, MetricsSnapshot>();
  #ended: Totals | undefined;
  /** What had happened to the processes that have ended, as far as they had told. */
  #endedEvents: readonly RecentEvent[] = [];
  readonly #ownEvents: () => readonly RecentEvent[];

  /** @param ownEvents what happens to the processes, as their supervisor sees it */
  constructor(ownEvents: () => readonly RecentEvent[]) {
    this.#ownEvents = ownEvents;
  }

  add(server: ServerProcess): void {
    this.#alive.add(server);
    void server.ended.then(({ snapshot }) => {
      this.#alive.delete(server);
      const last = snapshot ?? this.#last.get(server);
      this.#last.delete(server);
      if (last === undefined) return;
      this.#ended = addTotals(this.#ended === undefined ? [last] : [this.#ended, last]);
      this.#endedEvents = [...this.#endedEvents, ...last.events]
        .sort((a, b) => a.at - b.at)
        .slice(-maxEvents);
    });
  }

  /** The figures of all processes. Those that have a successor show no gauges, and only count into the sums. */
  async collect(): Promise<readonly MetricsSnapshot[]> {
    await Promise.all(
      Array.from(this.#alive, async (server) => {
        const snapshot = await server.collect(answerMs);
        if (snapshot !== undefined) this.#last.set(server, snapshot);
      }),
    );
    // Read without a wait in between: each process is then either in #last or in #ended, and counts once.
    const snapshots: MetricsSnapshot[] = [];
    for (const [server, { gauges, places, groups, workers, members, ...totals }] of this.#last) {
      const process = String(server.number);
      snapshots.push(
        server.hasSuccessor
          ? {
              ...nothing,
              ...totals,
              process,
              groups: groups.map(({ group, counters }) => ({ group, counters })),
            }
          : { ...totals, process, gauges, places, groups, workers, members },
      );
    }
    if (this.#ended !== undefined) {
      const events = this.#endedEvents;
      snapshots.push({ ...nothing, ...this.#ended, process: 'ended', events });
    }
    const events = this.#ownEvents();
    if (events.length > 0) snapshots.push({ ...nothing, process: 'supervisor', events });
    return snapshots;
  }
}
