import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { resolve } from 'node:path';
import type { Config } from '../../core/config/config.ts';
import { codeOf, listenError } from '../http/edge/http-server.ts';
import { assertSocketFree } from '../http/edge/unix-socket.ts';

type Ports = Pick<Config, 'port' | 'metricsPort'>;

/**
 * Checks that nobody else listens where a service will. Its processes share their ports, and the system would let a
 * foreign process share them too; a Unix socket they take over from each other.
 *
 * @returns the ports; a free port in place of 0
 * @throws Error with the `code` of the operating system (EADDRINUSE, ...) and a one-line message
 */
export async function freePorts({
  host,
  port,
  metricsPort,
  socket,
  http,
}: Ports & Pick<Config, 'host' | 'socket' | 'http'>): Promise<Ports> {
  const probes: Server[] = [];
  try {
    if (http && socket !== '') await assertSocketFree(resolve(socket));
    const own = http && socket === '' ? await probe(host, port, probes) : port;
    // Both ports are held at once: two times 0 must give two different ports.
    const other = metricsPort === 'same' ? metricsPort : await probe(host, metricsPort, probes);
    return { port: own, metricsPort: other };
  } finally {
    // Wait for the ports to be closed, so that they are free when this returns.
    await Promise.all(probes.map((server) => new Promise((resolve) => server.close(resolve))));
  }
}

async function probe(host: string, port: number, probes: Server[]): Promise<number> {
  try {
    const { address } = await lookup(host);
    const server = createServer();
    probes.push(server);
    server.listen({ host: address, port, exclusive: true });
    await once(server, 'listening');
    // The address is an object, since the server listens on a port.
    return (server.address() as AddressInfo).port;
  } catch (error) {
    throw listenError(codeOf(error), host, port);
  }
}
