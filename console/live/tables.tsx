import { useId, useState } from 'preact/hooks';
import type { ThrottleCause, ThrottledCaller } from '../../src/core/observe/throttled-callers.ts';
import { callsUrl } from '../facts.ts';
import { bytesText, msText, numberText, shareText, timeText } from '../parts/figures-text.ts';
import { type Column, Table } from '../parts/table.tsx';
import { procedureHash } from '../state/route.ts';
import { type Figures, type Snapshot, threadKey } from './figures.ts';
import type { ProcedureRow, Samples } from './samples.ts';

interface FiguresTableProps<Row> {
  readonly title: string;
  readonly rows: readonly Row[];
  /** false: nobody needs the column now. */
  readonly columns: readonly (Column<Row> | false)[];
  readonly keyOf: (row: Row) => string;
  /** What is said instead of no rows. */
  readonly none?: string;
  /** How many rows are shown until somebody asks for the rest. */
  readonly most?: number;
}

function FiguresTable<Row>(props: FiguresTableProps<Row>) {
  const { title, rows, columns, keyOf, none, most = Number.POSITIVE_INFINITY } = props;
  const id = useId();
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? rows : rows.slice(0, most);
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {rows.length === 0 && none !== undefined ? (
        <p class="hint">{none}</p>
      ) : (
        <Table
          label={title}
          rows={shown}
          columns={columns.filter((column) => column !== false)}
          keyOf={keyOf}
        />
      )}
      {rows.length > shown.length && (
        <button type="button" class="quiet" onClick={() => setWhole(true)}>
          Show all {rows.length}
        </button>
      )}
    </section>
  );
}

/** Whether rows differ in something that one process, or one group, has in common. */
function differ<Row>(rows: readonly Row[], of: (row: Row) => string): boolean {
  return new Set(rows.map(of)).size > 1;
}

/** The worker threads, whose code each one is in, and what it takes of the machine. */
export function WorkerTable({ workers, cpu }: Pick<Figures, 'workers'> & Pick<Samples, 'cpu'>) {
  const rows = workers.toSorted(
    (a, b) =>
      a.process.localeCompare(b.process) ||
      (a.group ?? '').localeCompare(b.group ?? '') ||
      a.worker - b.worker,
  );
  return (
    <FiguresTable
      title="Workers"
      none="There are none: every call runs in the main thread."
      rows={rows}
      keyOf={threadKey}
      columns={[
        differ(rows, ({ process }) => process) && { head: 'process', cell: (one) => one.process },
        rows.some(({ group }) => group !== null) && {
          head: 'group',
          cell: ({ group }) => group ?? '–',
        },
        {
          head: 'worker',
          name: ({ worker, isExpress }) => [worker, isExpress && <span class="tag">express</span>],
        },
        { head: 'thread', cell: ({ threadId }) => threadId },
        {
          head: 'runs now',
          cell: ({ running, inFlight }) =>
            running === null ? (
              <span class="hint">{inFlight > 0 ? 'waits' : 'idle'}</span>
            ) : (
              <code class="busy">{running.procedure}</code>
            ),
        },
        { head: 'for', number: ({ running }) => running?.ms ?? Number.NaN, text: msText },
        { head: 'CPU', number: (one) => cpu.get(threadKey(one)) ?? Number.NaN, text: shareText },
        { head: 'memory', number: ({ heapBytes }) => heapBytes ?? Number.NaN, text: bytesText },
        { head: 'holds', number: ({ inFlight }) => inFlight },
        { head: 'streams', number: ({ streams }) => streams },
        { head: 'ended', number: ({ completed }) => completed },
      ]}
    />
  );
}

interface ProcedureTableProps {
  readonly rows: readonly ProcedureRow[];
  readonly placement: Figures['placement'];
}

/** The procedures, where each runs and why: the busiest first. */
export function ProcedureTable({ rows, placement }: ProcedureTableProps) {
  return (
    <FiguresTable
      title="Procedures"
      rows={rows}
      most={20}
      keyOf={({ name }) => name}
      columns={[
        {
          head: 'name',
          name: ({ name }) =>
            placement[name] === undefined || callsUrl === undefined ? (
              <code>{name}</code>
            ) : (
              <a href={procedureHash(name)}>
                <code>{name}</code>
              </a>
            ),
        },
        {
          head: 'runs',
          cell: ({ name }) => {
            const placed = placement[name];
            return placed === undefined ? '–' : <span class="tag">{placed.place}</span>;
          },
        },
        { head: 'because', cell: ({ name }) => placement[name]?.reason, class: 'hint reason' },
        { head: 'calls/s', number: ({ callsPerSecond }) => callsPerSecond, text: numberText },
        { head: 'busy', number: ({ busy }) => busy, text: shareText },
        { head: 'calls', number: ({ calls }) => calls },
        { head: 'errors', number: ({ errors }) => errors, isOfFaults: true },
        { head: 'p50', number: ({ p50 }) => p50, text: msText },
        { head: 'p99', number: ({ p99 }) => p99, text: msText },
        // Only a service with handler batches has it.
        rows.some(({ callsPerRun }) => !Number.isNaN(callsPerRun)) && {
          head: 'calls/run',
          number: ({ callsPerRun }) => callsPerRun,
          text: (calls) => calls.toFixed(1),
        },
      ]}
    />
  );
}

/** What a key is, by its first letter: see src/core/dispatch/caller-key.ts. */
const kinds: Readonly<Record<string, string>> = {
  a: 'address',
  s: 'auth',
  n: 'auth',
  h: 'header',
  f: 'fairBy',
  '#': 'hash of a key',
};

const causes: readonly (readonly [ThrottleCause, string])[] = [
  ['rate', 'its rate'],
  ['inFlight', 'its own in flight'],
  ['queue', 'full queue'],
  ['full', 'full service'],
];

/** Who was refused with -32000 of late, and which limit it was. */
export function CallerTable({ callers }: Pick<Figures, 'callers'>) {
  return (
    <FiguresTable
      title="Throttled callers"
      none="In the last five minutes no call was refused because of too many."
      rows={callers.toSorted((a, b) => sumOf(b) - sumOf(a))}
      keyOf={({ key }) => key}
      columns={[
        {
          head: 'caller',
          name: ({ key }) => [
            <code class="caller">{key.slice(1) || 'unknown'}</code>,
            <span class="tag">{kinds[key[0] ?? ''] ?? 'key'}</span>,
          ],
        },
        { head: 'refused', number: sumOf, isOfFaults: true },
        ...causes.map(([cause, words]) => ({
          head: words,
          number: ({ refused }: ThrottledCaller) => refused[cause] || Number.NaN,
        })),
        { head: 'since', number: ({ since }) => since, text: timeText },
        { head: 'last', number: ({ last }) => last, text: timeText },
      ]}
    />
  );
}

function sumOf({ refused }: ThrottledCaller): number {
  return Object.values(refused).reduce((sum, count) => sum + count, 0);
}

/** The members of a gateway: who they are, what is with them, what was lost with them. */
export function MemberTable({ members, snapshots }: Figures) {
  const isGateway = snapshots.some(({ gauges }) => gauges?.remoteMembers !== undefined);
  if (!isGateway) return null;
  const rows = members.toSorted(
    (a, b) => a.service.localeCompare(b.service) || a.started - b.started,
  );
  return (
    <FiguresTable
      title="Members"
      none="There are none: calls of what they serve wait for one."
      rows={rows}
      keyOf={({ process, service, id }) => `${process} ${service} ${id}`}
      columns={[
        differ(rows, ({ process }) => process) && {
          head: 'seen by process',
          cell: ({ process }) => process,
        },
        differ(rows, ({ service }) => service) && {
          head: 'service',
          cell: ({ service }) => service,
        },
        { head: 'member', name: ({ id }) => <code>{id}</code> },
        { head: 'version', cell: ({ version }) => version },
        {
          head: 'state',
          cell: ({ state }) => (
            <span class={`tag ${['silent', 'hung'].includes(state) ? 'warn' : ''}`}>{state}</span>
          ),
        },
        { head: 'procedures', number: ({ procedures }) => procedures },
        { head: 'calls here', number: ({ inFlight }) => inFlight },
        { head: 'streams', number: ({ streams }) => streams },
        { head: 'calls of others', number: ({ othersLoad }) => othersLoad },
        { head: 'lost', number: ({ lost }) => lost, isOfFaults: true },
        { head: 'started', number: ({ started }) => started, text: timeText },
      ]}
    />
  );
}

/** The server processes of the service, where there are several. */
export function ProcessTable({ figures }: { readonly figures: Figures }) {
  const rows = figures.snapshots.filter(({ gauges }) => gauges !== undefined);
  if (rows.length < 2) return null;
  const gauge =
    (name: keyof NonNullable<Snapshot['gauges']>) =>
    ({ gauges }: Snapshot): number =>
      Number(gauges?.[name] ?? 0);
  return (
    <FiguresTable
      title="Processes"
      rows={rows}
      keyOf={({ process }) => process}
      columns={[
        { head: 'process', name: ({ process }) => process },
        { head: 'in flight', number: gauge('requestsInFlight') },
        { head: 'queued', number: gauge('queued') },
        { head: 'connections', number: gauge('connections') },
        { head: 'streams', number: gauge('openStreams') },
        { head: 'memory', number: gauge('residentMemory'), text: bytesText },
        {
          head: 'loop delay p99',
          number: gauge('eventLoopDelayP99'),
          text: (seconds) => msText(seconds * 1000),
        },
      ]}
    />
  );
}
