import type { ConnectionsJob } from '../load/connections-process.ts';
import type { Goal } from '../load/request.ts';
import { Child } from '../process/child.ts';
import type { Usage } from '../process/protocol.ts';
import type { Reading } from '../readings.ts';
import { bytes, microseconds } from '../readings.ts';
import { addCalls } from '../subjects/questions.ts';
import { RunningServer, tandem } from '../subjects/servers.ts';

const tool = 'own client';

/** Connections to open and close before the first is counted: after them the server's heap no longer grows. */
const warmUp = 200;
const warmUpTimes = 20;

/** A server with more and more connections. Each round starts a new one, since a process does not give memory back. */
export class HeldConnections {
  readonly #load: Child;
  #server: RunningServer | undefined;
  #goal: Goal | undefined;
  #before: Usage | undefined;

  private constructor(load: Child) {
    this.#load = load;
  }

  static async start(): Promise<HeldConnections> {
    return new HeldConnections(await Child.start('load/connections-process'));
  }

  /** Memory and CPU time of the server, compared with no connections. */
  async measure(count: number, anew: boolean): Promise<Reading[]> {
    if (anew || this.#server === undefined) await this.#restart();
    const { process } = this.#server as RunningServer;
    await this.#hold(count);
    const after = await process.usage();
    const before = this.#before as Usage;
    return [
      microseconds('time', tool, after.cpuUs - before.cpuUs),
      bytes('memory', tool, Math.max(0, after.rssBytes - before.rssBytes)),
    ];
  }

  async close(): Promise<void> {
    await this.#load.stop();
    await this.#server?.stop();
  }

  async #restart(): Promise<void> {
    await this.#load.call('release');
    await this.#server?.stop();
    const server = await RunningServer.start(tandem);
    this.#server = server;
    this.#goal = await server.goal(addCalls('json-rpc', 'add'));
    for (let i = 0; i < warmUpTimes; i++) {
      await this.#hold(warmUp);
      await this.#load.call('release');
    }
    this.#before = await server.process.usage();
  }

  async #hold(count: number): Promise<void> {
    const job: ConnectionsJob = { goal: this.#goal as Goal, count };
    await this.#load.call('hold', job);
  }
}
