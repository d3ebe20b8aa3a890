import { StartupError } from '../base/startup-error.ts';
import type { Config } from '../config/config.ts';
import type { Service } from '../dispatch/service.ts';
import type { HttpOptions } from '../http/edge/http-options.ts';
import type { HttpServer } from '../http/edge/http-server.ts';
import { listen } from '../http/listen.ts';
import type { Address } from './app-options.ts';

/** Most connections to a port of the operators' own. Scrapers and probes are few. */
export const mostOperators = 64;

/**
 * The servers of one app: the server that takes calls, and where operators have a port of their own, a second one.
 */
export interface Listening {
  readonly calls: HttpServer;
  /** The server that answers /metrics and the health checks: the same server, or the second one. */
  readonly operations: HttpServer;
  /** Open connections of both servers. */
  readonly connections: number;
  /** Those among them that are WebSockets. */
  readonly sockets: number;
  /** Closes the operators' server, which ends last: until then its health checks say that the other server drains. */
  closeOperations(): Promise<void>;
}

/** In place of a server, where nobody calls over HTTP. */
const nowhere: HttpServer = Object.freeze({
  transport: 'node',
  address: Object.freeze({ host: '', port: 0, socket: undefined, url: '' }),
  connections: 0,
  sockets: 0,
  close: async () => {},
});

/**
 * Without the option `http` only a port of the operators' own is listened at, where there is one.
 *
 * @throws whatever `listen` throws; no server listens then
 */
export async function listenForAll(
  service: Service,
  options: HttpOptions,
  { http, metricsPort, transport }: Pick<Config, 'http' | 'metricsPort' | 'transport'>,
): Promise<Listening> {
  if (metricsPort === 'same') {
    if (!http) return new Servers(nowhere, nowhere);
    const server = await listen(service, { ...options, serves: 'all' }, transport);
    return new Servers(server, server);
  }
  if (http && options.socket === '' && metricsPort === options.port && metricsPort !== 0) {
    throw new StartupError(
      `option metricsPort: ${metricsPort} is the port of the calls; choose another one, or leave it out to have both on one port`,
    );
  }
  const calls = http ? await listen(service, { ...options, serves: 'calls' }, transport) : nowhere;
  try {
    const maxConnections = Math.min(options.maxConnections, mostOperators);
    const own: HttpOptions = {
      ...options,
      port: metricsPort,
      socket: '',
      serves: 'operations',
      maxConnections,
    };
    // Warnings are the same for both servers: the first has printed them.
    const operations = await listen(service, { ...own, warn: () => {} }, transport);
    return new Servers(calls, operations);
  } catch (error) {
    await calls.close();
    throw error;
  }
}

/** What is served beside the calls, as far as it has a URL. */
interface ServedBeside {
  readonly mcpPath: string | undefined;
  readonly hasMetrics: boolean;
  readonly hasConsole: boolean;
}

/** Where each thing that is served is reached. */
export function addressOf(
  { calls, operations }: Listening,
  { mcpPath, hasMetrics, hasConsole }: ServedBeside,
): Address {
  const { url, socket } = calls.address;
  const urlAt = (path: string, base: string): string | undefined =>
    base === '' ? undefined : new URL(path, base).href;
  return {
    ...calls.address,
    mcpUrl: mcpPath === undefined ? undefined : urlAt(mcpPath, url),
    metricsUrl: hasMetrics ? urlAt('/metrics', operations.address.url) : undefined,
    // No browser opens a page on a Unix socket.
    consoleUrl: hasConsole && socket === undefined ? urlAt('/console/', url) : undefined,
  };
}

class Servers implements Listening {
  readonly calls: HttpServer;
  readonly operations: HttpServer;

  constructor(calls: HttpServer, operations: HttpServer) {
    this.calls = calls;
    this.operations = operations;
  }

  get connections(): number {
    const { calls, operations } = this;
    return calls === operations ? calls.connections : calls.connections + operations.connections;
  }

  get sockets(): number {
    return this.calls.sockets;
  }

  async closeOperations(): Promise<void> {
    await this.operations.close();
  }
}
