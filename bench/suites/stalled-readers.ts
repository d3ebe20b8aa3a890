import { setTimeout as pause } from 'node:timers/promises';
import type { StallJob } from '../load/readers-process.ts';
import type { Child } from '../process/child.ts';
import { megabytes, metricAt, type Reading } from '../readings.ts';
import { slope } from '../statistics.ts';
import { RunningServer, tandem } from '../subjects/servers.ts';

const tool = 'own client';

/** Clients that read nothing: with one stream, and with as many as one may have. */
export const stalls: Readonly<Record<string, Omit<StallJob, 'port'>>> = {
  'a stream of a WebSocket that nobody reads': { way: 'socket', streams: 1 },
  '100 streams of a WebSocket that nobody reads': { way: 'socket', streams: 100 },
  '100 event streams that nobody reads': { way: 'events', streams: 100 },
};

/** The readings of the memory, in equal steps of the time. */
const readings = 16;
/** Up to here the buffers of the system fill; the slope is of what comes behind. */
const fillShare = 0.5;

/** The same streams are read for so long first: what the heaps need of streams that go on is no part of a stall. */
const warmUpMs = 1000;
const settleMs = 200;

export const growth = 'growth of the memory';
export const slopeOf = 'slope of the memory';

/** Resident memory of a server whose reader stands still. A server of its own each time: a process does not give memory back. */
export async function measureStall(
  load: Child,
  { way, streams }: Omit<StallJob, 'port'>,
  seconds: number,
): Promise<Reading[]> {
  const server = await RunningServer.start(tandem);
  try {
    const job: StallJob = { port: server.port, way, streams };
    await load.call('read', { ...job, ms: warmUpMs });
    await pause(settleMs);
    const before = (await server.process.usage()).rssBytes;
    const began = performance.now();
    await load.call('stall', job);
    const points: { readonly at: number; readonly bytes: number }[] = [];
    for (let i = 1; i <= readings; i++) {
      await pause(Math.max(0, began + (i / readings) * seconds * 1000 - performance.now()));
      const { rssBytes } = await server.process.usage();
      points.push({ at: (i / readings) * seconds, bytes: rssBytes - before });
    }
    const settled = points.slice(readings * fillShare);
    const perSecond = slope(settled.map(({ at, bytes }) => [at, bytes]));
    return [
      megabytes(growth, tool, Math.max(...points.map(({ bytes }) => bytes))),
      megabytesPerMinute(perSecond * 60),
      ...points.map(({ at, bytes }) => megabytes(metricAt(at), tool, bytes)),
    ];
  } finally {
    await load.call('end');
    await server.stop();
  }
}

function megabytesPerMinute(bytes: number): Reading {
  return { metric: slopeOf, unit: 'MB/min', better: 'lower', tool, value: bytes / 1024 ** 2 };
}
