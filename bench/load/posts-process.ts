import { setTimeout as pause } from 'node:timers/promises';
import { expose } from '../process/expose.ts';
import { Connection } from './connection.ts';
import type { Goal } from './request.ts';

export interface PostsJob {
  readonly goal: Goal;
  readonly connections: number;
}

let done = 0;
let isOver = false;

/** Calls over HTTP until `end`, one at a time on each connection. */
async function posts({ goal, connections }: PostsJob): Promise<void> {
  isOver = false;
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
  // A wrong answer ends this process, which fails the run.
  for (const connection of open) void run(connection);
}

async function end(): Promise<void> {
  isOver = true;
  // The server hears of it before the next load begins.
  await pause(50);
}

expose(undefined, { posts, count: () => done, end });
