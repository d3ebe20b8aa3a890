import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import type { Config } from '../config/config.ts';
import { codeOf, listenError } from '../http/edge/listen-error.ts';

type Ports = Pick<Config, 'host' | 'port' | 'metricsPort'>;

/**
 * Makes sure that nobody listens where a service is to: its processes are to share its ports, and a shared
 * port is shared with whoever else asks for that.
 *
 * @returns the ports, free ones where 0 was asked for
 * @throws Error with the `code` of the operating system (EADDRINUSE, ...) and a one-line message
 */
export async function freePorts({ host, port, metricsPort }: Ports): Promise<Omit<Ports, 'host'>> {
  const probes: Server[] = [];
  try {
    const own = await probe(host, port, probes);
    // Held together: two times 0 must give two ports.
    const other = metricsPort === 'same' ? metricsPort : await probe(host, metricsPort, probes);
    return { port: own, metricsPort: other };
  } finally {
    // Awaited: the ports are free when this returns.
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
    // Not a string, nor null: it listens on a port.
    return (server.address() as AddressInfo).port;
  } catch (error) {
    throw listenError(codeOf(error), host, port);
  }
}
