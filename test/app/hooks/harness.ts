import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type AppOptions, RpcApp } from '../../../src/index.ts';
import { moduleUrl } from '../../files.ts';
import { RawClient } from '../../http/raw-client.ts';
import { patience } from '../../patience.ts';
import { type LogLine, recorder } from '../../service/harness.ts';

export type Carrier = 'uws' | 'node' | 'handler';
export const carriers: readonly Carrier[] = ['uws', 'node', 'handler'];

export interface Served {
  readonly app: RpcApp;
  readonly lines: readonly LogLine[];
  /** @param from an address in 127.0.0.0/8 */
  readonly client: (from?: string) => RawClient;
}

export const procedures = moduleUrl('test/fixtures/app/hooks/procedures.ts');

/** What cleans up when it ends: a test, or a suite. */
interface Ended {
  after(end: () => unknown): unknown;
}

/** An app over one of the three ways in: both servers, and the handler in a server of somebody else's. */
export async function serve(t: Ended, carrier: Carrier, given: AppOptions): Promise<Served> {
  const { log, lines } = recorder();
  const source = given.router === undefined ? { modules: [procedures] } : {};
  const common = {
    workers: 1,
    spareWorkers: 0,
    niceIncrement: 0,
    ...patience,
    port: 0,
    log,
    corsOrigin: 'none',
  };
  const transport = carrier === 'handler' ? 'node' : carrier;
  const app = new RpcApp({ ...source, ...common, transport, ...given });
  /** A path where it listens on a Unix socket. */
  let place: number | string;
  if (carrier === 'handler') {
    const server = createServer(app.nodeHandler());
    await once(server.listen(0, '127.0.0.1'), 'listening');
    t.after(() => server.close());
    place = (server.address() as AddressInfo).port;
    await app.dispatcher.ready();
  } else {
    const { port, socket } = await app.listen();
    place = socket ?? port;
    assert.equal(app.transport, carrier);
  }
  const clients: RawClient[] = [];
  t.after(async () => {
    for (const client of clients) client.destroy();
    await app.close();
  });
  const client = (from?: string) => {
    const made = new RawClient(place, '127.0.0.1', undefined, from);
    clients.push(made);
    return made;
  };
  return { app, lines, client };
}

/** A promise and what settles it. */
export function deferred<T>() {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
