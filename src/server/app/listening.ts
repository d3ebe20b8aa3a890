import { StartupError } from '../../core/base/startup-error.ts';
import { type Config, mcpPath } from '../../core/config/config.ts';
import { threadsOf } from '../../core/config/groups.ts';
import type { Service } from '../../core/dispatch/service.ts';
import type { Denial } from '../../core/dispatch/share.ts';
import { Episode } from '../../core/observe/episode.ts';
import type { Log } from '../../core/observe/log.ts';
import type { Counters } from '../../core/observe/snapshot.ts';
import type { HttpOptions } from '../http/edge/http-options.ts';
import type { HttpServer } from '../http/edge/http-server.ts';
import { listen } from '../http/listen.ts';
import type { Address } from './app-options.ts';
import { openFilesNote, readOpenFiles, roomFor } from './open-files.ts';

/** Most connections to a port of the operators' own. Scrapers and probes are few. */
const maxOperators = 64;

/** @throws whatever `listen` throws; no server listens then */
export async function listenForAll(
  service: Service,
  options: HttpOptions,
  { metricsPort, transport }: Pick<Config, 'metricsPort' | 'transport'>,
): Promise<Servers> {
  if (metricsPort === 'same') {
    const server = await listen(service, { ...options, serves: 'all' }, transport);
    return { calls: server, operations: server };
  }
  if (options.socket === '' && metricsPort === options.port && metricsPort !== 0) {
    throw new StartupError(
      `option metricsPort: ${metricsPort} is the port of the calls; choose another one, or leave it out to have both on one port`,
    );
  }
  const calls = await listen(service, { ...options, serves: 'calls' }, transport);
  try {
    const maxConnections = Math.min(options.maxConnections, maxOperators);
    const own: HttpOptions = {
      ...options,
      port: metricsPort,
      socket: '',
      serves: 'operations',
      maxConnections,
    };
    // Both servers have the same to say: the first has said it.
    const quiet = { warn: () => {}, tellTransport: () => {} };
    const operations = await listen(service, { ...own, ...quiet }, transport);
    return { calls, operations };
  } catch (error) {
    await calls.close();
    throw error;
  }
}

/** @param beside what the app serves beside its calls */
export function addressOf(
  { calls, operations }: Servers,
  beside: { hasMcp: boolean; hasMetrics: boolean; hasConsole: boolean },
): Address {
  const { hasMcp, hasMetrics, hasConsole } = beside;
  const { url, socket } = calls.address;
  const urlAt = (path: string, base: string): string => new URL(path, base).href;
  return {
    ...calls.address,
    mcpUrl: hasMcp ? urlAt(mcpPath, url) : undefined,
    metricsUrl: hasMetrics ? urlAt('/metrics', operations.address.url) : undefined,
    // No browser opens a page on a Unix socket.
    consoleUrl: hasConsole && socket === undefined ? urlAt('/console/', url) : undefined,
  };
}

export interface Servers {
  readonly calls: HttpServer;
  /** The server that answers /metrics and the health checks: the same server, or one on a port of the operators' own. */
  readonly operations: HttpServer;
}

/**
 * How many connections may be open: as many as configured, or as many as the limit of open files leaves room for.
 * `note` says so where the limit decides.
 */
export function fittingConnections(config: Config): { maxConnections: number; note?: string } {
  const { maxConnections, metricsPort } = config;
  const files = readOpenFiles();
  if (files === undefined) return { maxConnections };
  const open = files.open + (metricsPort === 'same' ? 0 : maxOperators);
  const room = roomFor(maxConnections, { ...files, open }, threadsOf(config));
  const note = openFilesNote(maxConnections, files.limit, room);
  return { maxConnections: room.connections, ...(note !== undefined && { note }) };
}

/** Refusals less than this apart belong to one flood. */
const quietMs = 5000;

/**
 * Counts the connections that were closed at once because too many were open, and logs a flood of them as one event.
 */
export class RefusedConnections {
  readonly counts = {
    refusedConnections: 0,
    connections: 0,
    connectionShare: 0,
  } satisfies Partial<Counters>;
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

  note(denial: Denial): void {
    this.counts.refusedConnections++;
    this.counts[denial === 'share' ? 'connectionShare' : 'connections']++;
    this.#episode.note();
  }

  close(): void {
    this.#episode.close();
  }
}
