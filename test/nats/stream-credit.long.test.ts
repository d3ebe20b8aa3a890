import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Router, Type } from '../../src/index.ts';
import { until } from '../turns.ts';
import { gateway, serve, untilReady } from './apps.ts';
import { connected } from './connected.ts';
import { describeNats, NatsServer } from './server.ts';

const streams = 3;

/** Streams without an end, each of which has given a value, and the credit of which their member is told. */
async function streaming(t: TestContext) {
  const server = await NatsServer.startFor(t);
  const router = new Router();
  router.rpc({ name: 'count', params: Type.Object({}) }, async function* () {
    for (let i = 0; ; i++) yield i;
  });
  const nats = { servers: server.url, role: 'member' } as const;
  const [, front] = await Promise.all([serve(t, { router, nats }), gateway(t, server.url)]);
  /** Streams of each message that told of some. */
  const told: number[] = [];
  const { connection } = await connected(t, server.url);
  connection.subscribe('tandem.m.*', ({ data }) => {
    // docs/protocol.md, "Frames over NATS": ticket, values and characters of each stream.
    const [head = ''] = Buffer.from(data).toString().split('\n');
    const { w: granted = [] } = JSON.parse(head) as { readonly w?: readonly number[] };
    if (granted.length > 0) told.push(granted.length / 3);
  });
  await connection.flush();
  await untilReady(front.url);
  const request = { jsonrpc: '2.0', method: 'count', params: {}, id: 1 };
  const open = Array.from({ length: streams }, () => front.app.dispatcher.stream(request));
  for (const stream of open) assert.deepEqual(await stream.next(), { value: 0, done: false });
  t.after(() => Promise.all(open.map((stream) => stream.return(undefined))));
  return { server, told, stream: open[0] ?? assert.fail('no stream') };
}

describeNats('the credit of streams', () => {
  test('a member is told of the stream that is read; of all now and then, and after an outage', async (t) => {
    const { server, told, stream } = await streaming(t);
    let isOver = false;
    const reading = (async () => {
      for await (const value of stream) {
        assert.equal(typeof value, 'number');
        if (isOver) return;
      }
    })();
    told.length = 0;
    await until(() => told.includes(1) && told.includes(streams));
    await server.restart();
    told.length = 0;
    await until(() => told.includes(1) && told.includes(streams));
    isOver = true;
    await reading;
  });
});
