import { timeText } from '../parts/figures-text.ts';
import type { Figures } from './figures.ts';

/** What happened to the service, the newest first. */
export function EventList({ events }: Pick<Figures, 'events'>) {
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
              <time dateTime={new Date(event.at).toISOString()}>
                {timeText(new Date(event.at))}
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
