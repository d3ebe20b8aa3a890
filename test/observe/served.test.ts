import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { type AppOptions, Router, RpcApp } from '../../src/index.ts';
import { type LogLine, recorder, startApp } from '../harness.ts';
import { RawClient, rpc } from '../http/raw-client.ts';
import { RawSocket } from '../http/socket/raw-socket.ts';
import { postJson } from '../post-json.ts';
import { servers } from '../servers.ts';
import { Exposition } from './exposition.ts';

/** A server of procedures that run inline, on one of the two transports. */
async function serve(t: TestContext, transport: 'uws' | 'node', options: AppOptions = {}) {
  const router = new Router();
  let release: (() => void) | undefined;
  const entered = new Promise<void>((resolve) => {
    router.rpc({ name: 'wait', placement: 'inline' }, () => {
      resolve();
      return new Promise<void>((end) => {
        release = end;
      });
    });
  });
  router.rpc({ name: 'one', placement: 'inline' }, () => 1);
  const { app, url, port, metricsUrl, lines } = await startApp(t, {
    router,
    transport,
    ...options,
  });
  const call = (method: string) => postJson(url, { method, id: 1 });
  const scrape = async () => {
    const response = await fetch(String(metricsUrl));
    assert.equal(response.status, 200);
    return new Exposition(await response.text());
  };
  return { app, call, scrape, lines, port, url, metricsUrl, entered, release: () => release?.() };
}

function events(lines: readonly LogLine[], pattern: RegExp): unknown[] {
  return lines.map(({ fields }) => fields.event).filter((event) => pattern.test(String(event)));
}

for (const transport of servers) {
  describe(`seen from outside, on ${transport}`, () => {
    test('sockets are counted, among the connections and by themselves, until they go', async (t) => {
      const { scrape, port } = await serve(t, transport);
      const sockets = [await RawSocket.connect(port), await RawSocket.connect(port)];
      const before = await scrape();
      assert.equal(before.value('tandem_sockets'), 2);
      assert.ok(before.value('tandem_connections') >= 3);
      for (const socket of sockets) socket.destroy();
      let after = await scrape();
      while (after.value('tandem_sockets') > 0) after = await scrape();
      const open = after.value('tandem_connections');
      assert.ok(open >= 1 && open < before.value('tandem_connections'), `${open} open`);
    });

    test('calls, connections and refused ones are counted; the log tells of a flood once', async (t) => {
      const options = { maxConnections: 3, metricsPort: 0 };
      const { app, scrape, lines, port } = await serve(t, transport, options);
      const sockets: RawSocket[] = [];
      for (let i = 0; i < 3; i++) sockets.push(await RawSocket.connect(port));
      for (let i = 0; i < 3; i++) await sockets[0]?.ask(rpc('one'));
      await sockets[0]?.ask(rpc('nobody'));
      const before = await scrape();
      assert.deepEqual(before.calls(), { 'one 0 inline': 3, '(unknown) -32601 none': 1 });
      for (let i = 0; i < 4; i++) await new RawClient(port).untilClosed();
      let after = await scrape();
      // The text is kept for a second.
      while (after.value('tandem_connections_refused_total') < 4) after = await scrape();
      assert.equal(after.value('tandem_sockets'), 3);
      assert.ok(after.value('tandem_connections') >= 4);
      assert.equal(after.value('tandem_connections_refused_total'), 4);
      for (const socket of sockets) socket.destroy();
      await app.close();
      assert.deepEqual(events(lines, /^connection-limit/), [
        'connection-limit-begins',
        'connection-limit-ends',
      ]);
      const end = lines.find(({ fields }) => fields.event === 'connection-limit-ends');
      assert.equal(end?.fields.count, 4);
    });

    test('operators have a port of their own where they want one; it tells of the drain to its end', async (t) => {
      const options = { metricsPort: 0 } as const;
      const { app, call, url, metricsUrl, scrape, lines, entered, release } = await serve(
        t,
        transport,
        options,
      );
      const at = (path: string, base: string) => fetch(new URL(path, base));
      assert.notEqual(new URL(String(metricsUrl)).port, new URL(url).port);
      assert.equal((await at('/readyz', String(metricsUrl))).status, 200);
      assert.equal((await at('/readyz', url)).status, 404);
      assert.equal((await at('/metrics', url)).status, 404);
      const reply = call('wait');
      await entered;
      assert.equal((await scrape()).value('tandem_calls_in_flight', { place: 'inline' }), 1);
      const closed = app.close();
      assert.equal((await at('/readyz', String(metricsUrl))).status, 503);
      assert.equal((await at('/healthz', String(metricsUrl))).status, 200);
      release();
      assert.equal((await reply).status, 200);
      await closed;
      await assert.rejects(at('/healthz', String(metricsUrl)));
      assert.deepEqual(events(lines, /^(start|ready|drain)/), [
        'start',
        'ready',
        'drain-begins',
        'drain-ends',
      ]);
    });

    test('turned off, there is nothing', async (t) => {
      const { url, metricsUrl } = await serve(t, transport, { metrics: false });
      assert.equal(metricsUrl, undefined);
      assert.equal((await fetch(new URL('/metrics', url))).status, 404);
    });
  });
}

describe('the port for operators', () => {
  test('in use: one line, and nothing listens', async (t) => {
    const first = await serve(t, 'node');
    const { log } = recorder();
    const app = new RpcApp({ router: new Router(), port: 0, metricsPort: first.port, log });
    await assert.rejects(app.listen(), { code: 'EADDRINUSE' });
    await app.close();
  });
});
