import { setTimeout as pause } from 'node:timers/promises';
import { expose } from '../process/expose.ts';
import { Connection } from './connection.ts';
import type { Goal } from './request.ts';
import { toFrame, WebSocketLoad } from './web-socket.ts';

export interface SocketsJob {
  readonly goal: Goal;
  readonly connections: number;
  /** Calls in flight on each. */
  readonly depth: number;
}

let stop: (() => void) | undefined;
let done = 0;

/** How many answers, or values, have come since the load began. */
const count = (): number => done;

/** Calls over WebSockets until `end`: a new one for each answer. */
async function calls({ goal, connections, depth }: SocketsJob): Promise<void> {
  const frames = goal.exchanges.map(({ body }) => toFrame(body));
  const replies = new Set(goal.exchanges.map(({ reply }) => reply));
  const sockets: WebSocketLoad[] = [];
  let next = 0;
  let isOver = false;
  const some = (many: number): Buffer =>
    Buffer.concat(Array.from({ length: many }, () => frames[next++ % frames.length] as Buffer));
  for (let i = 0; i < connections; i++) {
    const socket = await WebSocketLoad.open(goal.port, goal.path, (answers, last) => {
      done += answers;
      if (answers === 1 && !replies.has(last.toString())) throw new Error(`gave ${String(last)}`);
      if (!isOver) socket.send(some(answers));
    });
    sockets.push(socket);
  }
  for (const socket of sockets) socket.send(some(depth));
  stop = () => {
    isOver = true;
    for (const socket of sockets) socket.close();
  };
}

/** Calls over HTTP until `end`, one at a time on each connection. */
async function posts({ goal, connections }: SocketsJob): Promise<void> {
  let isOver = false;
  let next = 0;
  const open = await Promise.all(
    Array.from({ length: connections }, () => Connection.open(goal.port)),
  );
  const run = async (connection: Connection): Promise<void> => {
    while (!isOver) {
      const exchange = goal.exchanges[next++ % goal.exchanges.length];
      const { body } = await connection.post(goal.path, exchange?.body ?? '');
      if (body !== exchange?.reply) throw new Error(`gave ${body}`);
      done++;
    }
    connection.close();
  };
  const runs = open.map(run);
  stop = () => {
    isOver = true;
    void Promise.allSettled(runs);
  };
}

/** One stream on each connection; its values are read as they come. */
async function values({ goal, connections }: SocketsJob, body: string): Promise<void> {
  const sockets: WebSocketLoad[] = [];
  for (let i = 0; i < connections; i++) {
    const socket = await WebSocketLoad.open(goal.port, goal.path, (some) => {
      done += some;
    });
    sockets.push(socket);
    socket.send(toFrame(body));
  }
  stop = () => {
    for (const socket of sockets) socket.close();
  };
}

const endless = '{"jsonrpc":"2.0","id":1,"method":"numbers"}';

/** Connections that do nothing, beside those that are held already. */
async function hold({ goal, connections }: SocketsJob): Promise<void> {
  const before = stop;
  const sockets: WebSocketLoad[] = [];
  while (sockets.length < connections) {
    const some = Array.from({ length: Math.min(50, connections - sockets.length) }, () =>
      WebSocketLoad.open(goal.port, goal.path, () => {}),
    );
    sockets.push(...(await Promise.all(some)));
  }
  stop = () => {
    before?.();
    for (const socket of sockets) socket.close();
  };
}

async function end(): Promise<void> {
  stop?.();
  stop = undefined;
  // The server hears of it before the next load begins.
  await pause(50);
}

expose(undefined, {
  calls,
  posts,
  values: (job: SocketsJob) => values(job, endless),
  hold,
  count,
  end,
});
