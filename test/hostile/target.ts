import assert from 'node:assert/strict';
import { type ConfigOptions, Dispatcher, RpcApp } from '../../src/index.ts';
import { moduleUrl } from '../files.ts';
import inlineRouter from '../fixtures/hostile/inline.ts';
import { usual } from '../harness.ts';
import { RawClient } from '../http/raw-client.ts';
import type { ServerName } from '../servers.ts';

/** One of test/fixtures/hostile. */
export type Fixture = 'both' | 'inline' | 'worker' | 'auto';

function moduleOf(name: Fixture): string {
  return moduleUrl(`test/fixtures/hostile/${name}.ts`);
}

/** One worker, so that its count of runs is the count of all that ran in the pool. */
const quiet = { ...usual, logLevel: 'silent' } as const;

export async function startDispatcher(
  name: Fixture,
  options: ConfigOptions = {},
): Promise<Dispatcher> {
  // A router starts no workers.
  const source = name === 'inline' ? { router: inlineRouter } : { modules: [moduleOf(name)] };
  const dispatcher = new Dispatcher({ ...source, ...quiet, ...options });
  await dispatcher.ready();
  return dispatcher;
}

/** A server that hostile bytes are sent to. */
export class Target {
  readonly transport: ServerName;
  readonly #app: RpcApp;
  readonly #port: number;
  readonly #clients = new Set<RawClient>();

  private constructor(transport: ServerName, app: RpcApp, port: number) {
    this.transport = transport;
    this.#app = app;
    this.#port = port;
  }

  static async start(
    transport: ServerName,
    name: Fixture,
    options: ConfigOptions = {},
  ): Promise<Target> {
    const modules = [moduleOf(name)];
    const app = new RpcApp({ modules, port: 0, transport, ...quiet, ...options });
    const { port } = await app.listen();
    assert.equal(app.transport, transport);
    return new Target(transport, app, port);
  }

  client(): RawClient {
    const client = new RawClient(this.#port);
    this.#clients.add(client);
    client.socket.once('close', () => this.#clients.delete(client));
    return client;
  }

  async close(): Promise<void> {
    for (const client of this.#clients) client.destroy();
    await this.#app.close();
  }
}
