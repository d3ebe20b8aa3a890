import { expose } from '../process/expose.ts';
import { Connection } from './connection.ts';
import type { Goal } from './request.ts';

export interface ConnectionsJob {
  readonly goal: Goal;
  /** How many connections to have open. */
  readonly count: number;
}

const open: Connection[] = [];

/** Opens more connections, each with one call, and leaves them idle. */
async function hold({ goal, count }: ConnectionsJob): Promise<void> {
  const [exchange] = goal.exchanges;
  while (open.length < count) {
    const some = Array.from({ length: Math.min(50, count - open.length) }, async () => {
      const connection = await Connection.open(goal.port);
      const { status, body } = await connection.post(goal.path, exchange?.body ?? '');
      if (status !== 200 || body !== exchange?.reply) throw new Error(`gave ${status} ${body}`);
      open.push(connection);
    });
    await Promise.all(some);
  }
}

function release(): void {
  for (const connection of open.splice(0)) connection.close();
}

expose(undefined, { hold, release });
