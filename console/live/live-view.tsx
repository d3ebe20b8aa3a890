import { useEffect } from 'preact/hooks';
import { facts } from '../facts.ts';
import { bytesText, msText, numberText, timeText } from '../parts/figures-text.ts';
import { headers } from '../state/headers.ts';
import { Refused } from '../views/refused.tsx';
import { Chart, type Line } from './chart.tsx';
import { type Figures, sumCounter, sumGauge } from './figures.ts';
import { live, poll } from './poll.ts';
import { ProfilePanel } from './profile-panel.tsx';
import type { Sample } from './samples.ts';
import { CallerTable, MemberTable, ProcedureTable, ProcessTable, WorkerTable } from './tables.tsx';

const charts: readonly { readonly title: string; readonly lines: readonly Line[] }[] = [
  {
    title: 'Calls a second',
    lines: [
      { label: 'calls', of: (sample) => sample.callsPerSecond, text: numberText },
      { label: 'errors', of: (sample) => sample.errorsPerSecond, text: numberText },
    ],
  },
  {
    title: 'Latency',
    lines: [
      { label: 'p50', of: (sample) => sample.p50, text: msText, scale: 'log' },
      { label: 'p99', of: (sample) => sample.p99, text: msText, scale: 'log' },
    ],
  },
  {
    title: 'Queue and in flight',
    lines: [
      { label: 'in flight', of: (sample) => sample.inFlight, text: numberText },
      { label: 'queued', of: (sample) => sample.queued, text: numberText },
    ],
  },
  {
    title: 'Memory and event loop',
    lines: [
      { label: 'memory', of: (sample) => sample.memory, text: bytesText },
      { label: 'delay p99', of: (sample) => sample.loopDelay, text: msText, scale: 'y2' },
    ],
  },
];

/** The service as it is now. */
export function LiveView() {
  const { value } = live;
  // Other headers, other answers: a refusal is asked again.
  const isRefused = value.state === 'failed' && value.isRefusal;
  useEffect(poll, [isRefused ? headers.value : undefined]);
  if (value.state === 'failed') return <Refused what="The figures" failed={value} />;
  if (value.state === 'loading') return <p class="hint">Loading…</p>;
  const { figures, samples } = value;
  return (
    <div class="live">
      <div class="row">
        <h1>Live</h1>
        <span class={`badge ${figures.state === 'ready' ? 'good' : 'bad'}`}>{figures.state}</span>
      </div>
      <Tiles figures={figures} last={samples.list.at(-1)} />
      <div class="charts">
        {charts.map(({ title, lines }) => (
          <Chart key={title} title={title} lines={lines} samples={samples.list} />
        ))}
      </div>
      {facts.profiles && <ProfilePanel />}
      <WorkerTable workers={figures.workers} cpu={samples.cpu} />
      <ProcedureTable rows={samples.rows} placement={figures.placement} />
      <CallerTable callers={figures.callers} />
      <MemberTable {...figures} />
      <ProcessTable figures={figures} />
      <EventList events={figures.events} />
    </div>
  );
}

function Tiles({
  figures,
  last,
}: {
  readonly figures: Figures;
  readonly last: Sample | undefined;
}) {
  const busy = figures.workers.filter(({ running }) => running !== null).length;
  const lost =
    sumCounter(figures, 'deathsByExit') +
    sumCounter(figures, 'deathsByMemory') +
    sumCounter(figures, 'deathsByError');
  const tiles: readonly (readonly [string, string])[] = [
    ['calls/s', last === undefined ? '–' : numberText(last.callsPerSecond)],
    ['errors/s', last === undefined ? '–' : numberText(last.errorsPerSecond)],
    ['refused/s', last === undefined ? '–' : numberText(last.refusedPerSecond)],
    ['in flight', numberText(sumGauge(figures, 'requestsInFlight'))],
    ['queued', numberText(sumGauge(figures, 'queued'))],
    ['on the express worker', numberText(sumGauge(figures, 'expressCallsInFlight'))],
    ['workers busy', `${busy} of ${figures.workers.length}`],
    ['streams', numberText(sumGauge(figures, 'openStreams'))],
    ['connections', numberText(sumGauge(figures, 'connections'))],
    ['WebSockets', numberText(sumGauge(figures, 'sockets'))],
    ['workers lost', numberText(lost)],
    ['workers killed', numberText(sumCounter(figures, 'kills'))],
  ];
  const hasMembers = figures.snapshots.some(({ gauges }) => gauges?.remoteMembers !== undefined);
  const remote: typeof tiles = [
    ['members', numberText(sumGauge(figures, 'remoteMembers'))],
    ['with members', numberText(sumGauge(figures, 'remoteInFlight'))],
    ['wait for members', numberText(sumGauge(figures, 'remoteQueued'))],
    ['sent again', numberText(sumCounter(figures, 'remoteRequeued'))],
    ['lost with members', numberText(sumCounter(figures, 'remoteLost'))],
    ['returns to NATS', numberText(sumCounter(figures, 'natsReconnects'))],
  ];
  return (
    <dl class="card tiles">
      {[...tiles, ...(hasMembers ? remote : [])].map(([label, value]) => (
        <div key={label}>
          <dt class="hint">{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** What happened to the service, the newest first. */
function EventList({ events }: Pick<Figures, 'events'>) {
  const hasProcesses = new Set(events.map(({ process }) => process)).size > 1;
  return (
    <section aria-labelledby="events-title">
      <h2 id="events-title">Events</h2>
      {events.length === 0 ? (
        <p class="hint">
          Nothing has happened yet: placements, deaths, kills, restarts and reloads are told here.
        </p>
      ) : (
        <ol class="box rows events" reversed tabIndex={0} aria-label="Events, the newest first">
          {events.toReversed().map((event, index) => (
            <li class="row" key={`${event.at} ${event.process} ${events.length - index}`}>
              <time class="hint" dateTime={new Date(event.at).toISOString()}>
                {timeText(event.at)}
              </time>
              {hasProcesses && <span class="tag">{processText(event.process)}</span>}
              <span class={`tag ${isBad(event.event) ? 'warn' : ''}`}>{event.event}</span>
              <span class="event-text">{event.text}</span>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

function processText(process: string): string {
  if (process === 'ended') return 'an ended process';
  return /^\d+$/.test(process) ? `process ${process}` : process;
}

function isBad(event: string): boolean {
  if (event === 'drain-begins') return false;
  return /lost|killed|failed|blocked|error|garbled|stuck|fault|denied|silent|gone|disconnected|begins$/.test(
    event,
  );
}
