import { inTurns } from '../../core/base/timer.ts';
import { mostEvents } from '../../core/observe/recent-events.ts';
import { addTotals, type CallTotals, type MetricsSnapshot } from '../../core/observe/snapshot.ts';
import { joinThrottled } from '../../core/observe/throttled-callers.ts';

export interface FiguresSource {
  readonly state: string;
  /** The figures of all processes of the service, read without holding the thread. */
  snapshots(): Promise<readonly MetricsSnapshot[]>;
  /** The names of the procedures that are served. */
  names(): Iterable<string>;
  /** Where a procedure runs, and why; undefined: it is not served any more. */
  placementOf(name: string): { readonly place: string; readonly reason: string } | undefined;
}

/** How long one text serves all viewers. */
const keptMs = 1000;

/** Rows that are looked at or written in one turn of the event loop: less than a millisecond. */
const perTurn = 50;

/** Most procedures whose figures are sent. */
const mostProcedures = 200;

/** Most members that are listed: their number is among the gauges. */
const mostMembers = 200;

/** The name of the row that sums up the procedures which are not shown. No procedure's name has parentheses. */
const restProcedures = '(rest)';

/** The figures that the live page asks for each second, as one JSON text for all viewers. */
export class Figures {
  readonly #source: FiguresSource;
  readonly #shown = new ShownProcedures();
  #text: Promise<Uint8Array> | undefined;

  constructor(source: FiguresSource) {
    this.#source = source;
  }

  /** Nothing is computed until somebody asks, and nothing again for one second. */
  bytes(): Promise<Uint8Array> {
    this.#text ??= this.#write();
    return this.#text;
  }

  async #write(): Promise<Uint8Array> {
    try {
      return Buffer.from(await this.#textOf(await this.#source.snapshots()));
    } finally {
      // The time is counted from the end, so that a second text can't begin while this one is written.
      setTimeout(() => {
        this.#text = undefined;
      }, keptMs).unref();
    }
  }

  async #textOf(snapshots: readonly MetricsSnapshot[]): Promise<string> {
    const shown = await this.#shown.choose(snapshots, this.#source.names());
    const placement: string[] = [];
    await inTurns(shown, perTurn, (name) => {
      const found = this.#source.placementOf(name);
      if (found === undefined) return;
      const { place, reason } = found;
      placement.push(`${JSON.stringify(name)}:${JSON.stringify({ place, reason })}`);
    });
    const texts: string[] = [];
    for (const snapshot of snapshots) texts.push(await snapshotText(snapshot, shown));
    const workers = snapshots.flatMap(({ process, workers: own }) =>
      own.map((worker) => ({ process, ...worker })),
    );
    const events = snapshots
      .flatMap(({ process, events: own }) => own.map((event) => ({ process, ...event })))
      .sort((a, b) => a.at - b.at)
      .slice(-mostEvents);
    const callers = joinThrottled(snapshots.map(({ callers: own }) => own));
    const members = snapshots
      .flatMap(({ process, members: own }) => own.map((member) => ({ process, ...member })))
      .slice(0, mostMembers);
    const rest = JSON.stringify({ workers, members, callers, events }).slice(1);
    const head = JSON.stringify({ at: Date.now(), state: this.#source.state }).slice(0, -1);
    return `${head},"snapshots":[${texts.join()}],"placement":{${placement.join()}},${rest}`;
  }
}

/** One snapshot with the rows of `shown` and one row for all others, so that its sums stay what they are. */
async function snapshotText(
  snapshot: MetricsSnapshot,
  shown: ReadonlySet<string>,
): Promise<string> {
  const {
    calls,
    workers: _w,
    events: _e,
    places: _p,
    callers: _c,
    members: _m,
    ...others
  } = snapshot;
  const rows: string[] = [];
  let rest: CallTotals | undefined;
  await inTurns(calls, perTurn, (row) => {
    if (shown.has(row.procedure)) {
      rows.push(JSON.stringify(row));
      return;
    }
    const unnamed = { ...row, procedure: restProcedures, place: '' };
    rest = rest === undefined ? unnamed : sum(rest, unnamed);
  });
  if (rest !== undefined) rows.push(JSON.stringify(rest));
  const head = JSON.stringify(others).slice(0, -1);
  return `${head},"calls":[${rows.join()}]}`;
}

function sum(rest: CallTotals, row: CallTotals): CallTotals {
  const totals = [rest, row].map((one) => ({
    calls: [one],
    counters: {} as MetricsSnapshot['counters'],
    blocked: [],
    groups: [],
  }));
  return addTotals(totals).calls[0] as CallTotals;
}

/**
 * Chooses whose figures are sent: the procedures whose calls changed last. What had changed stays among them while
 * fewer others change, so a viewer who misses a text sees each change in a later one.
 */
class ShownProcedures {
  /** How many calls of each procedure had ended at the last look; those that changed last stand last. */
  readonly #calls = new Map<string, number>();

  /** @param names all procedures: if there is room, those that nobody called are shown too */
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
    const shown = new Set([...this.#calls.keys()].slice(-mostProcedures));
    for (const name of names) {
      if (shown.size >= mostProcedures) break;
      shown.add(name);
    }
    return shown;
  }
}
