import { Episode } from '../observe/episode.ts';
import type { Log } from '../observe/log.ts';

/** Refusals less than this apart belong to one flood. */
const quietMs = 5000;

/**
 * Counts the connections that were closed at once because too many were open, and logs a flood of them as one event.
 */
export class RefusedConnections {
  count = 0;
  /** The bound that holds now. It is lower than the configured one where few files may be open. */
  maxConnections: number;
  readonly #episode: Episode;

  constructor(log: Log, maxConnections: number) {
    this.maxConnections = maxConnections;
    this.#episode = new Episode(quietMs, {
      begins: () =>
        log.warn(
          { event: 'connection-limit-begins', maxConnections: this.maxConnections },
          'connections are closed: too many are open',
        ),
      ends: ({ count, ms }) =>
        log.warn({ event: 'connection-limit-ends', count, ms }, 'no connection is closed any more'),
    });
  }

  note(): void {
    this.count++;
    this.#episode.note();
  }

  close(): void {
    this.#episode.close();
  }
}
