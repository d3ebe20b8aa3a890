import { setTimeout as pause } from 'node:timers/promises';
import type { SubscribeJob } from '../load/readers-process.ts';
import type { Child } from '../process/child.ts';
import { microseconds, type Reading } from '../readings.ts';
import { RunningServer, type ServerSubject } from '../subjects/servers.ts';

const tool = 'own client';
const ticker = { dialect: 'json-rpc', method: 'ticker', args: [] } as const;

export const tickers: readonly ServerSubject[] = [
  { ...ticker, id: 'tandem', label: 'Tandem', role: 'ours', module: 'subjects/http/ticker' },
  {
    ...ticker,
    id: 'send-loop',
    label: 'a loop of sends, raw uWebSockets.js',
    role: 'floor',
    module: 'subjects/http/ticker-floor',
  },
];

const connections = 1000;
/** Between two values: less would measure how the machine shares its cores. */
const everyMs = 20;

export const fanOutMetric = 'CPU of each value at each reader';

/** What it costs the server's main thread to give one value to each of 1000 subscribers. */
export class FanOut {
  readonly #load: Child;
  readonly #servers = new Map<string, RunningServer>();

  constructor(load: Child) {
    this.#load = load;
  }

  async measure(subject: string, seconds: number): Promise<Reading[]> {
    const { process, port } = await this.#server(subject);
    const job: SubscribeJob = { port, connections };
    await this.#load.call('subscribe', job);
    // What their arrival leaves to be done.
    await pause(100);
    const before = await process.usage();
    const values = Math.ceil((seconds * 1000) / everyMs);
    for (let i = 0; i < values; i++) {
      await process.call('publish');
      await pause(everyMs);
    }
    while ((await this.#load.call<number>('count')) < values * connections) await pause(5);
    const after = await process.usage();
    await this.#load.call('end');
    return [
      microseconds(
        fanOutMetric,
        tool,
        (after.mainCpuUs - before.mainCpuUs) / (values * connections),
      ),
    ];
  }

  async close(): Promise<void> {
    await Promise.all([...this.#servers.values()].map((server) => server.stop()));
  }

  async #server(subject: string): Promise<RunningServer> {
    const known = this.#servers.get(subject);
    if (known !== undefined) return known;
    const found = tickers.find(({ id }) => id === subject);
    if (found === undefined) throw new Error(`no ticker ${subject}`);
    const server = await RunningServer.start(found);
    this.#servers.set(subject, server);
    return server;
  }
}
