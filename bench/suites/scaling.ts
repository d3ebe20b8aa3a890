import { availableParallelism } from 'node:os';
import type { MixedJob, MixedResult } from '../load/mixed.ts';
import type { Options } from '../options.ts';
import { Child } from '../process/child.ts';
import type { Reading } from '../readings.ts';
import { rate } from '../readings.ts';
import type { SeriesSet } from '../series.ts';
import { ratios } from '../statistics.ts';
import type { Subject } from '../subject.ts';
import { stepsFor } from '../subjects/calibrate.ts';
import { burnCalls } from '../subjects/questions.ts';
import type { ScalingJob } from '../subjects/scaling-process.ts';
import { RunningServer, type ServerSubject } from '../subjects/servers.ts';
import type { Plan, Session, Suite } from '../suite.ts';
import { atLeast, given, type Target } from '../targets.ts';

const cores = availableParallelism();

/** Every number up to 4, then doubled, and all cores. */
const counts = Array.from({ length: cores }, (_, i) => i + 1).filter(
  (n) => n <= 4 || (n & (n - 1)) === 0 || n === cores,
);

interface WorkersSubject extends Subject {
  readonly workers: number;
}

interface ProcessesSubject extends ServerSubject {
  readonly processes: number;
}

const workersOf = (workers: number): WorkersSubject => ({
  id: `workers-${workers}`,
  label: `Tandem, ${workers} of ${cores} cores for workers`,
  role: 'ours',
  workers,
});

const processesOf = (processes: number): ProcessesSubject => ({
  id: `processes-${processes}`,
  label: `tandem serve --processes ${processes}, on ${cores} cores`,
  role: 'ours',
  processes,
  module: 'subjects/processes-process',
  dialect: 'json-rpc',
  method: 'burn',
  args: [String(processes)],
});

const overWorkers = 'CPU-bound calls of 5 ms, over workers';
const overProcesses = 'CPU-bound calls of 5 ms, inline, over processes';
const inProcess = 'closed loop in process';
const overHttp = 'closed loop client';
const burnMs = 5;
/** The kernel spreads connections by chance. With so many, no process is left without one. */
const connectionsPerProcess = 16;

function plan({ full, duration, rounds }: Options): Plan {
  const seconds = duration ?? (full ? 1.5 : 0.4);
  const workers = counts.map(workersOf);
  const processes = counts.map(processesOf);
  const ids = (subjects: readonly Subject[]): string[] => subjects.map(({ id }) => id);
  const cases = [
    { name: overWorkers, subjects: ids(workers), seconds },
    { name: overProcesses, subjects: ids(processes), seconds },
  ];
  const subjects = [...workers, ...processes];
  return { subjects, cases, rounds: rounds ?? (full ? 7 : 5), openSeconds: 4 };
}

type Measure = (seconds: number) => Promise<number>;

class ScalingSession implements Session {
  readonly #steps = stepsFor(burnMs);
  readonly #measures = new Map<string, Measure>();
  readonly #running: { stop(): Promise<void> }[] = [];

  static async open(): Promise<ScalingSession> {
    const session = new ScalingSession();
    for (const count of counts) await session.#addWorkers(workersOf(count));
    const load = await Child.start('load/mixed-process');
    session.#running.push(load);
    for (const count of counts) await session.#addProcesses(processesOf(count), load);
    return session;
  }

  async measure(subject: string, name: string, seconds: number): Promise<Reading[]> {
    const perSecond = await this.#measures.get(subject)?.(seconds);
    const tool = name === overWorkers ? inProcess : overHttp;
    return [rate('calls', tool, perSecond ?? Number.NaN)];
  }

  async close(): Promise<void> {
    await Promise.all(this.#running.map((one) => one.stop()));
  }

  async #addWorkers({ id, workers }: WorkersSubject): Promise<void> {
    const child = await Child.start('subjects/scaling-process', { args: [String(workers)] });
    this.#running.push(child);
    this.#measures.set(id, (seconds) => {
      const job: ScalingJob = { steps: this.#steps, seconds };
      return child.call<number>('run', job);
    });
  }

  async #addProcesses(subject: ProcessesSubject, load: Child): Promise<void> {
    const server = await RunningServer.start(subject);
    this.#running.push(server);
    const goal = await server.goal(burnCalls('json-rpc', this.#steps));
    const connections = connectionsPerProcess * subject.processes;
    this.#measures.set(subject.id, async (seconds) => {
      const job: MixedJob = { seconds, closed: { goal, connections } };
      return (await load.call<MixedResult>('run', job)).closed?.perSecond ?? Number.NaN;
    });
  }
}

function report(series: SeriesSet): readonly Target[] {
  const one = series.samples(overWorkers, workersOf(1).id, 'calls');
  const two = series.samples(overWorkers, workersOf(2).id, 'calls');
  const workers = one && two && ratios(two, one);
  return given(['CPU-bound calls/s, 2 workers over 1', atLeast(1.85), inProcess, workers]);
}

export const scaling: Suite = {
  name: 'scaling',
  about: 'CPU-bound calls over more and more workers, and inline over more and more processes.',
  plan,
  open: () => ScalingSession.open(),
  report,
};
