import { setTimeout as sleep } from 'node:timers/promises';
import type { Options } from '../options.ts';
import type { Reading } from '../readings.ts';
import { megabytes, milliseconds } from '../readings.ts';
import type { SeriesSet } from '../series.ts';
import { addCalls } from '../subjects/questions.ts';
import {
  fastify,
  fastifyPiscina,
  RunningServer,
  type ServerSubject,
  tandem,
  uwsFloor,
} from '../subjects/servers.ts';
import type { Plan, Session, Suite } from '../suite.ts';
import type { Target } from '../targets.ts';

/** Each has a spare worker beside the number of workers in its name. */
const subjects: readonly ServerSubject[] = [
  uwsFloor,
  { ...tandem, id: 'tandem-1', label: 'Tandem, 1 worker', args: ['1'] },
  { ...tandem, id: 'tandem-2', label: 'Tandem, 2 workers', args: ['2'] },
  fastify,
  { ...fastifyPiscina, label: 'fastify + piscina, 1 thread', args: ['1'] },
];

const tool = 'own client';
const name = 'start';
const settleMs = 100;

function plan({ full, rounds }: Options): Plan {
  const cases = [{ name, subjects: subjects.map(({ id }) => id), seconds: 0.35 }];
  return { subjects, cases, rounds: rounds ?? (full ? 9 : 5), openSeconds: 0 };
}

async function measure(id: string): Promise<Reading[]> {
  const subject = subjects.find((one) => one.id === id);
  if (subject === undefined) throw new Error(`${id} is not a server`);
  const { path, questions } = addCalls(subject.dialect, subject.method);
  const began = performance.now();
  const server = await RunningServer.start(subject);
  await server.goal({ path, questions: questions.slice(0, 1) });
  const elapsed = performance.now() - began;
  await sleep(settleMs);
  const { rssBytes } = await server.process.usage();
  await server.stop();
  return [milliseconds('first answer', tool, elapsed), megabytes('idle rss', tool, rssBytes)];
}

async function open(): Promise<Session> {
  return { measure, close: async () => {} };
}

/** This suite has no target: it only compares with the rivals. */
function report(_series: SeriesSet): readonly Target[] {
  return [];
}

export const start: Suite = {
  name: 'start',
  about: 'From the spawn of a process to its first answer, and its memory when idle.',
  plan,
  open,
  report,
};
