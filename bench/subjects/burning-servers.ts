import type { MixedJob, MixedResult, StreamLoad } from '../load/mixed.ts';
import type { Goal } from '../load/request.ts';
import { Child } from '../process/child.ts';
import { stepsFor } from './calibrate.ts';
import { burnCalls } from './questions.ts';
import { type RunningServer, type ServerSubject, startServers, stopServers } from './servers.ts';

/** Servers whose calls burn CPU for a given time, and the process that calls them. */
export class BurningServers {
  readonly #load: Child;
  readonly #servers: ReadonlyMap<string, RunningServer>;
  readonly #stepsOfOneMs: number;

  private constructor(
    load: Child,
    servers: ReadonlyMap<string, RunningServer>,
    stepsOfOneMs: number,
  ) {
    this.#load = load;
    this.#servers = servers;
    this.#stepsOfOneMs = stepsOfOneMs;
  }

  static async start(subjects: readonly ServerSubject[]): Promise<BurningServers> {
    const stepsOfOneMs = stepsFor(20) / 20;
    const load = await Child.start('load/mixed-process');
    return new BurningServers(load, await startServers(subjects), stepsOfOneMs);
  }

  /** Calls of a method that burn `ms` each. @throws for a subject that was not started */
  goal(subject: string, method: string, ms: number): Promise<Goal> {
    const server = this.#servers.get(subject);
    if (server === undefined) throw new Error(`${subject} was not started`);
    return server.goal(burnCalls('json-rpc', Math.round(ms * this.#stepsOfOneMs), method));
  }

  /** Streams of `method`, each of whose values burns `ms`. @throws for a subject that was not started */
  streams(
    subject: string,
    method: string,
    ms: number,
    load: Pick<StreamLoad, 'count' | 'from'>,
  ): StreamLoad {
    const server = this.#servers.get(subject);
    if (server === undefined) throw new Error(`${subject} was not started`);
    const steps = Math.round(ms * this.#stepsOfOneMs);
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { steps } });
    return { port: server.port, path: '/rpc', body, ...load };
  }

  run(job: MixedJob): Promise<MixedResult> {
    return this.#load.call<MixedResult>('run', job);
  }

  async close(): Promise<void> {
    await stopServers(this.#servers);
    await this.#load.stop();
  }
}
