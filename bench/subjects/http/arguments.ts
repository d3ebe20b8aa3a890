import type { AddressInfo, Server } from 'node:net';

/** The first argument: how many worker threads the server has, where it has any. */
export const threads = Number(process.argv[2] ?? 1);

/** Listens on a free port and returns the port. */
export async function portOf(server: Server): Promise<number> {
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return (server.address() as AddressInfo).port;
}
