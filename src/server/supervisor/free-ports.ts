import type { AddressInfo, Server } from 'node:net';
import { resolve } from 'node:path';
import type { Config } from '../../core/config/config.ts';
import { givePort, holdPort } from '../http/edge/http-server.ts';
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
  const held: Server[] = [];
  const hold = async (wanted: number): Promise<number> => {
    const server = await holdPort(host, wanted);
    held.push(server);
    // The address is an object, since the server listens on a port.
    return (server.address() as AddressInfo).port;
  };
  try {
    if (http && socket !== '') await assertSocketFree(resolve(socket));
    const own = http && socket === '' ? await hold(port) : port;
    // Both ports are held at once: two times 0 must give two different ports.
    return {
      port: own,
      metricsPort: metricsPort === 'same' ? metricsPort : await hold(metricsPort),
    };
  } finally {
    await Promise.all(held.map(givePort));
  }
}
