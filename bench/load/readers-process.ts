/** Clients of streams: those that read nothing, and those that read what one source gives to all. */
import { setTimeout as pause } from 'node:timers/promises';
import { expose } from '../process/expose.ts';
import { Stall } from './stall.ts';
import { toFrame, WebSocketLoad } from './web-socket.ts';

export interface StallJob {
  readonly port: number;
  readonly way: 'events' | 'socket';
  /** The same from one client: over a WebSocket all of them, over server-sent events each on a connection of its own. */
  readonly streams: number;
}

export interface SubscribeJob {
  readonly port: number;
  readonly connections: number;
}

let stop: (() => void) | undefined;
let done = 0;

/** How many values have come since the clients subscribed. */
const count = (): number => done;

const request = (id: number, method: string): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method });

/** Opens streams without end, and reads nothing of them until `end`. */
async function stall(job: StallJob): Promise<void> {
  const clients = await openStreams(job);
  stop = () => {
    for (const client of clients) client.close();
  };
}

/** Opens as many, reads them for a while, and leaves: the heaps of the server are as large then as streams make them. */
async function read({ ms, ...job }: StallJob & { readonly ms: number }): Promise<void> {
  const clients = await openStreams(job);
  await Promise.all(clients.map((client) => client.read(ms)));
  for (const client of clients) client.close();
}

async function openStreams({ port, way, streams }: StallJob): Promise<readonly Stall[]> {
  const bodies = Array.from({ length: streams }, (_, id) => request(id, 'blocks'));
  return way === 'socket'
    ? [await Stall.overSocket(port, bodies)]
    : Promise.all(bodies.map((body) => Stall.overEvents(port, body)));
}

/** One subscription on each connection. Resolves when each has its id. */
async function subscribe({ port, connections }: SubscribeJob): Promise<void> {
  const sockets: WebSocketLoad[] = [];
  done = 0;
  while (sockets.length < connections) {
    const some = Array.from({ length: Math.min(50, connections - sockets.length) }, () =>
      WebSocketLoad.open(port, '/rpc', (values) => {
        done += values;
      }),
    );
    sockets.push(...(await Promise.all(some)));
  }
  for (const socket of sockets) socket.send(toFrame(request(1, 'ticker')));
  while (done < connections) await pause(5);
  done = 0;
  stop = () => {
    for (const socket of sockets) socket.close();
  };
}

async function end(): Promise<void> {
  stop?.();
  stop = undefined;
  // The server hears of it before the next load begins.
  await pause(50);
}

expose(undefined, { read, stall, subscribe, count, end });
