import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { run } from '../../scripts/run.ts';
import type { Options } from '../options.ts';
import type { Reading } from '../readings.ts';
import { megabytes, milliseconds } from '../readings.ts';
import { rootPath } from '../root.ts';
import type { SeriesSet } from '../series.ts';
import type { Subject } from '../subject.ts';
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
import { atMost, given, type Target } from '../targets.ts';

/** Each has a spare worker beside the number of workers in its name. */
const servers: readonly ServerSubject[] = [
  uwsFloor,
  { ...tandem, id: 'tandem-1', label: 'Tandem, 1 worker', args: ['1'] },
  { ...tandem, id: 'tandem-2', label: 'Tandem, 2 workers', args: ['2'] },
  fastify,
  { ...fastifyPiscina, label: 'fastify + piscina, 1 thread', args: ['1'] },
];

/** The command, as published, with a module of two procedures. */
const commands: readonly (Subject & { readonly flags: readonly string[] })[] = [
  { id: 'tandem-serve', label: 'tandem serve', role: 'ours', flags: [] },
  {
    id: 'tandem-serve-alone',
    label: 'tandem serve --no-supervisor',
    role: 'ours',
    flags: ['--no-supervisor'],
  },
];
const subjects = [...servers, ...commands];

const tool = 'own client';
const name = 'start';
const toReady = 'to /readyz';
const settleMs = 100;

function plan({ full, rounds }: Options): Plan {
  const cases = [{ name, subjects: subjects.map(({ id }) => id), seconds: 0.4 }];
  return { subjects, cases, rounds: rounds ?? (full ? 9 : 5), openSeconds: 20 };
}

async function measureServer(subject: ServerSubject): Promise<Reading[]> {
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

/** What the command logs of its start. */
interface Line {
  readonly event?: string;
  readonly codeMs?: number;
  readonly modulesMs?: number;
  readonly workersMs?: number;
  readonly url?: string;
}

/** From the spawn of the command to the first answer of /readyz, in all and in parts. */
async function measureCommand(flags: readonly string[]): Promise<Reading[]> {
  const module = rootPath('bench/subjects/start-procedures.mjs');
  const args = ['serve', module, '--port', '0', '--log-level', 'debug', ...flags];
  const began = performance.now();
  const command = spawn(process.execPath, [rootPath('dist/src/cli/main.js'), ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, NODE_ENV: 'production' },
  });
  const ended = once(command, 'exit');
  let parts: Line = {};
  for await (const text of createInterface({ input: command.stderr })) {
    const line = JSON.parse(text) as Line;
    if (line.event === 'modules-loaded') parts = line;
    if (line.event !== 'ready' || line.url === undefined) continue;
    const answer = await fetch(new URL('/readyz', line.url));
    const elapsed = performance.now() - began;
    command.kill('SIGTERM');
    await ended;
    if (!answer.ok) throw new Error(`/readyz answered ${answer.status}`);
    const { codeMs = 0, modulesMs = 0, workersMs = 0 } = parts;
    const rest = elapsed - codeMs - modulesMs - workersMs;
    return [
      milliseconds(toReady, tool, elapsed),
      milliseconds('code of the server', tool, codeMs),
      milliseconds('modules on the main thread', tool, modulesMs),
      milliseconds('workers', tool, workersMs),
      milliseconds('supervisor, listening, answer', tool, rest),
    ];
  }
  throw new Error('tandem serve ended before it was ready');
}

async function measure(id: string): Promise<Reading[]> {
  const command = commands.find((one) => one.id === id);
  if (command !== undefined) return measureCommand(command.flags);
  const server = servers.find((one) => one.id === id);
  if (server === undefined) throw new Error(`${id} is nothing that starts`);
  return measureServer(server);
}

async function open(): Promise<Session> {
  await run('npm', ['run', 'build'], { cwd: rootPath() });
  return { measure, close: async () => {} };
}

/** Milliseconds from the command to /readyz, on two cores. Node keeps compiled code from 22.1 on. */
const mostMs = Number(process.versions.node.split('.', 1)[0]) < 22 ? 650 : 500;

function report(series: SeriesSet): readonly Target[] {
  return given([
    'from `tandem serve` to /readyz',
    atMost(mostMs, 'ms'),
    tool,
    series.samples(name, 'tandem-serve', toReady),
  ]);
}

export const start: Suite = {
  name: 'start',
  about:
    'From the spawn of a process to its first answer, and its memory when idle; the command in parts, as published.',
  plan,
  open,
  report,
};
