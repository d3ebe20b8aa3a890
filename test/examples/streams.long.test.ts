/** examples/streams, served as they are: in workers and on the main thread, over WebSocket. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import sharp from 'sharp';
import WebSocket from 'ws';
import { grainyPhoto } from '../../examples/media/photo.ts';
import type { RpcApp } from '../../src/index.ts';
import { moduleUrl, temporaryFolder } from '../files.ts';
import { startApp, suiteLifetime } from '../harness.ts';

interface Message {
  readonly id?: number;
  readonly result?: string;
  readonly error?: { readonly code: number };
  readonly params?: { readonly result?: unknown; readonly subscription?: string };
  readonly method?: string;
}

/** One connection whose messages are read one by one. */
class Reader {
  readonly socket: WebSocket;
  readonly #messages: Message[] = [];

  constructor(url: string) {
    this.socket = new WebSocket(url);
    this.socket.on('message', (data: Buffer) => {
      this.#messages.push(JSON.parse(data.toString()) as Message);
      this.socket.emit('parsed');
    });
  }

  async open(): Promise<this> {
    await once(this.socket, 'open');
    return this;
  }

  /** Calls, and gives the result of the reply: the id of a subscription. */
  async call(method: string, params: object = {}): Promise<string> {
    this.socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
    const { result, error } = await this.next();
    assert.ok(result !== undefined, JSON.stringify(error));
    return result;
  }

  async next(): Promise<Message> {
    while (this.#messages.length === 0) await once(this.socket, 'parsed');
    return this.#messages.shift() as Message;
  }

  async value<T>(): Promise<T> {
    return (await this.next()).params?.result as T;
  }
}

describe('examples/streams', () => {
  const lifetime = suiteLifetime();
  let app: RpcApp;
  let url = '';
  const connect = (): Promise<Reader> => {
    const reader = new Reader(url);
    lifetime.after(() => reader.socket.terminate());
    return reader.open();
  };

  before(async () => {
    const names = ['tail', 'rows', 'convert', 'ticker'];
    const modules = names.map((name) => moduleUrl(`examples/streams/${name}.ts`));
    const started = await startApp(lifetime, { modules });
    app = started.app;
    url = started.url.replace('http', 'ws');
  });

  test('a tail gives the lines that are appended, and goes on from a position', async (t) => {
    const file = join(temporaryFolder(t), 'log.txt');
    writeFileSync(file, 'old\n');
    process.env.TAIL_FILE = file;
    const reader = await connect();
    await reader.call('log.tail', { from: 4 });
    appendFileSync(file, 'one\ntw');
    assert.deepEqual(await reader.value(), { line: 'one', at: 8 });
    appendFileSync(file, 'ö\n');
    assert.deepEqual(await reader.value(), { line: 'twö', at: 13 });
    const late = await connect();
    await late.call('log.tail', { from: 8 });
    assert.deepEqual(await late.value(), { line: 'twö', at: 13 });
  });

  test('the rows of a query come in order from a worker, whose memory they do not fill', async () => {
    const reader = await connect();
    await reader.call('trips.rows', { minKm: 99 });
    let last = 0;
    let count = 0;
    for (;;) {
      const { method, params = {} } = await reader.next();
      if (method === 'rpc.end') {
        assert.deepEqual(params.result, { count });
        break;
      }
      const { id, km } = params.result as { id: number; km: number };
      assert.ok(id > last && km >= 99);
      last = id;
      count++;
    }
    assert.equal(count, 10_000);
  });

  test('an image is converted in a worker, width by width', async () => {
    const reader = await connect();
    const data = Buffer.from(await grainyPhoto(300)).toString('base64');
    await reader.call('images.convert', { data });
    const widths: number[] = [];
    for (let done = 1; done <= 5; done++) {
      const value = await reader.value<{ done: number; of: number; width: number }>();
      assert.deepEqual([value.done, value.of], [done, 5]);
      widths.push(value.width);
    }
    assert.deepEqual(widths, [1600, 1200, 800, 400, 200]);
    const { params } = await reader.next();
    const made = params?.result as { width: number; webp: string }[];
    assert.equal(made.length, 5);
    const { format, width } = await sharp(Buffer.from(made[4]?.webp ?? '', 'base64')).metadata();
    assert.deepEqual([format, width], ['webp', 200]);
  });

  test('one source serves a thousand subscribers', async () => {
    const connections = await Promise.all(Array.from({ length: 20 }, connect));
    const subscribe = (id: number) =>
      JSON.stringify({ jsonrpc: '2.0', id, method: 'ticker.subscribe' });
    for (const { socket } of connections) {
      for (let id = 0; id < 50; id++) socket.send(subscribe(id));
    }
    await Promise.all(
      connections.map(async (reader) => {
        const heard = new Map<string, number>();
        const named = new Set<string>();
        // Two prices for each of the fifty, as soon as each has its id.
        while (named.size < 50 || [...named].some((id) => (heard.get(id) ?? 0) < 2)) {
          const { result, method, params } = await reader.next();
          if (method === undefined) {
            named.add(result as string);
            continue;
          }
          assert.equal(method, 'ticker.subscription');
          const { subscription, result: price } = params as {
            subscription: string;
            result: object;
          };
          assert.ok(named.has(subscription), 'a value came before the reply that names it');
          assert.deepEqual(Object.keys(price), ['symbol', 'price']);
          heard.set(subscription, (heard.get(subscription) ?? 0) + 1);
        }
      }),
    );
    for (const { socket } of connections) socket.close();
    // The source stops when nobody is left: then the streams have ended.
    while (app.dispatcher.stats().inFlight > 0) await pause(5);
  });
});
