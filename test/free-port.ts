import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below those that systems give for port 0 (Linux from 32768 on, others from 49152): no process beside this one gets them by that. */
const [first, end] = [20_000, 32_000];

/** Test processes begin at places of their own. */
let next = (process.pid * 31) % (end - first);

/** @returns a port of 127.0.0.1 that was free a moment ago: for what takes no port 0, or does not tell which it took */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = first + (next++ % (end - first));
    const server = createServer().listen(port, '127.0.0.1');
    try {
      await once(server, 'listening');
    } catch {
      continue; // it is taken
    }
    server.close();
    await once(server, 'close');
    return port;
  }
}
