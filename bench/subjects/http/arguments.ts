import type { AddressInfo, Server } from 'node:net';

/** Worker threads of a server that has any: the first argument. */
export const threads = Number(process.argv[2] ?? 1);

/** Listens on a free port and gives it. */
export async function portOf(server: Server): Promise<number> {
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return (server.address() as AddressInfo).port;
}
