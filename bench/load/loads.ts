import { Child } from '../process/child.ts';
import type { AutocannonJob } from './autocannon-process.ts';
import type { Goal, LoadResult } from './request.ts';
import { Wrk, wrkVersion } from './wrk.ts';

/** The load tools that this machine has. Each runs in a process of its own. */
export class Loads {
  readonly tools: readonly string[];
  readonly #autocannon: Child;
  readonly #wrk: Wrk | undefined;

  private constructor(autocannon: Child, wrk: Wrk | undefined) {
    this.#autocannon = autocannon;
    this.#wrk = wrk;
    this.tools = wrk === undefined ? ['autocannon'] : ['wrk', 'autocannon'];
  }

  static async start(): Promise<Loads> {
    const wrk = wrkVersion() === undefined ? undefined : new Wrk();
    return new Loads(await Child.start('load/autocannon-process'), wrk);
  }

  /** @throws Error where an answer was wrong */
  run(tool: string, goal: Goal, connections: number, seconds: number): Promise<LoadResult> {
    if (tool === 'wrk' && this.#wrk !== undefined) {
      return this.#wrk.run(goal, connections, seconds, false);
    }
    const job: AutocannonJob = { goal, connections, seconds };
    return this.#autocannon.call('run', job);
  }

  /** Runs a short load and compares every answer, whatever the tool. */
  async check(tool: string, goal: Goal, connections: number, seconds: number): Promise<void> {
    if (tool === 'wrk') await this.#wrk?.run(goal, connections, seconds, true);
    else await this.run(tool, goal, connections, seconds);
  }

  async close(): Promise<void> {
    this.#wrk?.close();
    await this.#autocannon.stop();
  }
}
