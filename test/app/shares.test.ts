import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type AppOptions, Router } from '../../src/index.ts';
import { json, post, type RawClient, request, rpc } from '../http/raw-client.ts';
import { RawSocket } from '../http/socket/raw-socket.ts';
import { servers } from '../servers.ts';
import { until } from '../turns.ts';
import { type Served, serve } from './hooks/serve.ts';

/** One address takes all that it can get; another one gets what it asks for. */

const hasIpv6 = Object.values(networkInterfaces()).some((some) =>
  some?.some(({ address }) => address === '::1'),
);

const greedy = '127.0.0.1';
const modest = '127.0.0.2';

function router() {
  const made = new Router();
  let running = 0;
  made.rpc({ name: 'now', placement: 'inline' }, () => 'now');
  made.rpc({ name: 'who', placement: 'inline' }, (_params, { auth }) => auth);
  made.rpc({ name: 'wait', placement: 'inline', async: true }, () => {
    running++;
    return new Promise<never>(() => {});
  });
  made.rpc({ name: 'open', placement: 'inline' }, async function* () {
    yield 'first';
    await new Promise<never>(() => {});
  });
  return { router: made, running: () => running };
}

const share = (limit: string) => ({ reason: 'share', limit, retryAfterMs: 1000, retry: true });

/** The lines of what was refused. */
function refusedIn(metrics: string): string {
  const lines = metrics.split('\n').filter((line) => line.startsWith('tandem_refused_total'));
  return lines.filter((line) => !line.endsWith(' 0')).join();
}

/** Comes behind what the server has to say to bytes that were sent before. */
async function settledBy(other: RawClient): Promise<undefined> {
  for (let i = 0; i < 3; i++) await other.ask(post(rpc('now')));
  return undefined;
}

/** Tries to open more WebSockets than there may be: a connection that is idle would make room. @returns which of them were opened */
async function tried(open: () => RawClient): Promise<boolean[]> {
  const opened: boolean[] = [];
  for (let i = 0; i < 120; i++) {
    const socket = await RawSocket.open(open()).catch(() => undefined);
    opened.push(socket !== undefined);
  }
  return opened;
}

async function isAnswered(one: RawClient): Promise<boolean> {
  const reply = await one.ask(post(rpc('now'))).catch(() => undefined);
  return reply !== undefined && json(reply).result === 'now';
}

async function sockets(open: () => RawClient, count: number): Promise<RawSocket[]> {
  const all: RawSocket[] = [];
  for (let i = 0; i < count; i++) all.push(await RawSocket.open(open()));
  return all;
}

for (const carrier of servers) {
  const start = (t: Parameters<typeof serve>[0], options: AppOptions): Promise<Served> =>
    serve(t, carrier, { timeoutMs: 600_000, ...options });

  describe(`shares over ${carrier}`, () => {
    test('maxInFlight: beside 20 WebSockets with waiting calls another address gets all of its calls', async (t) => {
      const { router: given, running } = router();
      const { client } = await start(t, { router: given, maxInFlight: 2000 });
      const all = await sockets(() => client(greedy), 20);
      const ids = Array.from({ length: 100 }, (_, i) => i);
      for (const socket of all) for (const id of ids) await socket.send(rpc('wait', {}, id));
      // The last ones have their refusals: all have been read.
      const refused = await Promise.all(all.slice(18).map((socket) => socket.receive()));
      for (const text of refused)
        assert.deepEqual(JSON.parse(text).error.data, share('maxInFlight'));
      assert.equal(running(), 1800);
      const other = client(modest);
      for (const id of ids) {
        assert.equal(json(await other.ask(post(rpc('now', {}, id)))).result, 'now');
      }
      const text = (await other.ask(request('GET', '/metrics'))).body.toString();
      assert.equal(refusedIn(text), 'tandem_refused_total{limit="maxInFlight",reason="share"} 200');
      for (const socket of all) socket.client.destroy();
      // The places are free although the calls still run.
      const again = await RawSocket.open(client(greedy));
      for (;;) {
        const { error } = JSON.parse(await again.ask(rpc('now')));
        if (error === undefined) break;
      }
      assert.equal(running(), 1800);
    });

    test('maxStreams: beside an address with all the streams it can get another one gets its streams', async (t) => {
      const { client } = await start(t, { router: router().router, maxStreams: 100 });
      const open = async (socket: RawSocket, count: number) => {
        const replies = [];
        for (let id = 0; id < count; id++) {
          await socket.send(rpc('open', {}, id));
          for (;;) {
            const message = JSON.parse(await socket.receive());
            if (message.id !== id) continue;
            replies.push(message);
            break;
          }
        }
        return replies;
      };
      const taken = await open(await RawSocket.open(client(greedy)), 100);
      const refused = taken.filter(({ error }) => error !== undefined);
      assert.equal(refused.length, 10);
      assert.deepEqual(refused[0].error.data, share('maxStreams'));
      const others = await open(await RawSocket.open(client(modest)), 10);
      assert.deepEqual(
        others.filter(({ error }) => error !== undefined),
        [],
      );
    });

    test('maxConnections: beside an address with all the connections it can get another one gets its own', async (t) => {
      const { client } = await start(t, { router: router().router, maxConnections: 100 });
      assert.equal((await tried(() => client(greedy))).lastIndexOf(true), 89);
      // The next count of the connections is due: all of these connect before it, and none may be counted twice.
      await delay(1100);
      const others = Array.from({ length: 10 }, () => isAnswered(client(modest)));
      assert.deepEqual(await Promise.all(others), Array(10).fill(true));
    });

    test('maxConnections: callers of a server on :: share it by their IPv4 addresses, which the system maps to IPv6', {
      skip: !hasIpv6 && 'no IPv6 here',
    }, async (t) => {
      const authenticate: AppOptions['authenticate'] = ({ remoteAddress }) => remoteAddress;
      const options = { router: router().router, host: '::', maxConnections: 100, authenticate };
      const { client } = await start(t, options);
      assert.equal((await tried(() => client('127.0.0.3'))).lastIndexOf(true), 89);
      for (let i = 0; i < 5; i++) {
        assert.equal(json(await client(modest).ask(post(rpc('who')))).result, modest);
      }
    });

    test('maxConnections: those that were open before connections became scarce count for their address', async (t) => {
      const { client } = await start(t, { router: router().router, maxConnections: 100 });
      await sockets(() => client(greedy), 45);
      await sockets(() => client(modest), 12);
      // Each holds its part. On uWebSockets.js this is known once the connections were counted.
      await until(async () => {
        const one = client(greedy);
        const opened = await RawSocket.open(one).catch(() => undefined);
        one.socket.destroy();
        return opened === undefined;
      });
      await sockets(() => client('127.0.0.3'), 9);
    });

    test('maxInFlightPerCaller: 200 networks of one /48 of IPv6 hold what eight callers may', async (t) => {
      const { router: given, running } = router();
      const options = { router: given, maxInFlightPerCaller: 5, trustedProxies: greedy };
      const { client } = await start(t, options);
      const refusals: unknown[] = [];
      for (let i = 0; i < 200; i++) {
        const one = client(greedy);
        const from = { 'x-forwarded-for': `2001:db8:1:${i.toString(16)}::1` };
        await one.write(post(rpc('wait'), from));
        if (i < 40) continue;
        const data = json(await one.response()).error.data as { reason: string };
        refusals.push(data.reason);
      }
      assert.deepEqual(new Set(refusals), new Set(['in-flight-per-caller']));
      assert.equal(running(), 40);
      const other = { 'x-forwarded-for': '2001:db8:2::1' };
      assert.equal(json(await client(greedy).ask(post(rpc('now'), other))).result, 'now');
    });

    test('maxBodyMemory: beside bodies that one address never ends another one sends its own', async (t) => {
      const { client } = await start(t, {
        router: router().router,
        maxBodyMemory: 10_000_000,
        maxBodyBytes: 1_000_000,
      });
      const head = (length: number) =>
        `POST /rpc HTTP/1.1\r\nhost: test\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`;
      const refusals: [number, unknown][] = [];
      for (let i = 0; i < 20; i++) {
        const one = client(greedy);
        await one.write(head(800_000));
        await one.write('{');
        const read = await Promise.race([one.response(), settledBy(client(modest))]);
        if (read !== undefined) refusals.push([read.status, json(read).error.data]);
      }
      assert.ok(refusals.length > 0);
      assert.deepEqual(refusals.at(-1), [503, share('maxBodyMemory')]);
      const other = client(modest);
      const text = 'x'.repeat(200_000);
      assert.deepEqual(json(await other.ask(post(rpc('now', { text })))), {
        jsonrpc: '2.0',
        id: 1,
        result: 'now',
      });
    });
  });
}
