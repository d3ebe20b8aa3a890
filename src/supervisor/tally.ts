import { type CounterName, counterTable } from '../observe/metric-table.ts';
import { mostEvents, type RecentEvent } from '../observe/recent-events.ts';
import {
  addTotals,
  type Counters,
  type MetricsSnapshot,
  type Totals,
} from '../observe/snapshot.ts';
import type { ServerProcess } from './server-process.ts';

/** How long a process may take to answer a scrape. Its last snapshot is used where it takes longer. */
const answerMs = 1000;

/** Of what serves nothing, or does not any more. */
const nothing: MetricsSnapshot = {
  process: '',
  calls: [],
  counters: Object.fromEntries(
    (Object.keys(counterTable) as CounterName[]).map((name) => [name, 0]),
  ) as Counters,
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
export class Tally {
  readonly #last = new Map<ServerProcess, MetricsSnapshot>();
  #ended: Totals | undefined;
  /** What had happened to the processes that have ended, as far as they had told. */
  #endedEvents: readonly RecentEvent[] = [];
  readonly #ownEvents: () => readonly RecentEvent[];

  /** @param ownEvents what happens to the processes, as their supervisor sees it */
  constructor(ownEvents: () => readonly RecentEvent[]) {
    this.#ownEvents = ownEvents;
  }

  /** Counts a process from now on. */
  add(server: ServerProcess): void {
    void server.ended.then(({ snapshot }) => {
      const last = snapshot ?? this.#last.get(server);
      this.#last.delete(server);
      if (last === undefined) return;
      this.#ended = addTotals(this.#ended === undefined ? [last] : [this.#ended, last]);
      this.#endedEvents = [...this.#endedEvents, ...last.events]
        .sort((a, b) => a.at - b.at)
        .slice(-mostEvents);
    });
  }

  /**
   * @param servers the processes that have not ended
   * @param serving the processes among them whose gauges are shown; the others only count into the sums
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
    // Read without a wait in between: each process is then either in #last or in #ended, and counts once.
    const snapshots: MetricsSnapshot[] = [];
    for (const [server, { gauges, places, groups, workers, members, ...totals }] of this.#last) {
      const process = String(server.number);
      const isServing = serving.has(server);
      snapshots.push({
        ...totals,
        process,
        gauges: isServing ? gauges : undefined,
        places: isServing ? places : [],
        workers: isServing ? workers : [],
        members: isServing ? members : [],
        groups: isServing ? groups : groups.map(({ group, counters }) => ({ group, counters })),
      });
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
