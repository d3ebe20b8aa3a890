import { setTimeout as sleep } from 'node:timers/promises';
import type { MixedJob, MixedResult } from '../load/mixed.ts';
import type { Options } from '../options.ts';
import { Child } from '../process/child.ts';
import type { Reading } from '../readings.ts';
import { milliseconds, rate } from '../readings.ts';
import { slope } from '../statistics.ts';
import { stepsFor } from '../subjects/calibrate.ts';
import { addCalls, burnCalls } from '../subjects/questions.ts';
import { RunningServer, tandem } from '../subjects/servers.ts';
import type { Plan, Session, Suite } from '../suite.ts';

const name = 'mixed load';
const tool = 'paced client';
const lightPerSecond = 2000;
const heavyMs = 5;
const heavyConnections = 4;

/** How often memory is read. The readings of the first quarter, in which heaps still grow, do not count. */
const everyMs = 1000;
const settledShare = 0.25;

/** One long round: a slope needs time. */
function plan({ duration }: Options): Plan {
  const cases = [{ name, subjects: ['tandem'], seconds: duration ?? 600 }];
  const subjects = [{ id: 'tandem', label: 'Tandem', role: 'ours' }] as const;
  return { subjects, cases, rounds: 1, openSeconds: 1 };
}

async function open(): Promise<Session> {
  const server = await RunningServer.start(tandem);
  const load = await Child.start('load/mixed-process');
  const light = await server.goal(addCalls('json-rpc', 'add'));
  const heavy = await server.goal(burnCalls('json-rpc', stepsFor(heavyMs)));
  return {
    measure: async (_subject, _case, seconds) => {
      const job: MixedJob = {
        seconds,
        paced: { goal: light, perSecond: lightPerSecond },
        closed: { goal: heavy, connections: heavyConnections },
      };
      return soak(server.process, load, job);
    },
    close: async () => {
      await Promise.all([server.stop(), load.stop()]);
    },
  };
}

async function soak(server: Child, load: Child, job: MixedJob): Promise<Reading[]> {
  await server.call('watchDelay');
  const rss: [number, number][] = [];
  const heap: [number, number][] = [];
  let running = true;
  const result = load.call<MixedResult>('run', job).finally(() => {
    running = false;
  });
  const began = performance.now();
  while (running) {
    const { rssBytes, heapBytes } = await server.usage();
    const minutes = (performance.now() - began) / 60_000;
    if (minutes * 60 >= job.seconds * settledShare) {
      rss.push([minutes, rssBytes / 1024 ** 2]);
      heap.push([minutes, heapBytes / 1024 ** 2]);
    }
    await Promise.race([sleep(everyMs), result]);
  }
  const { paced, closed } = await result;
  const perMinute = (metric: string, points: [number, number][]): Reading => {
    return {
      metric,
      unit: 'MB/min',
      better: 'lower',
      tool,
      value: points.length < 2 ? 0 : slope(points),
    };
  };
  return [
    perMinute('rss slope', rss),
    perMinute('heap slope', heap),
    milliseconds('event-loop delay p99', tool, await server.call<number>('delayP99')),
    milliseconds('light p99', tool, paced?.p99 ?? Number.NaN),
    rate('heavy', tool, closed?.perSecond ?? Number.NaN),
  ];
}

export const soakSuite: Suite = {
  name: 'soak',
  about: `${lightPerSecond} light calls/s and ${heavyConnections} heavy ones at a time, for ten minutes.`,
  onlyNamed: true,
  plan,
  open,
  report: () => [],
};
