import assert from 'node:assert/strict';
import { test } from 'node:test';
import { procedure, Router, Type } from '../../src/index.ts';
import { call, gateway, serve, untilReady } from './apps.ts';
import { connected, refusal } from './connected.ts';
import { describeNats, NatsServer } from './server.ts';

describeNats('a server that takes small messages only', () => {
  test('calls and results of any size cross, one behind the other', async (t) => {
    const server = await NatsServer.startFor(t, { config: 'max_payload: 131072' });
    const router = new Router();
    const params = Type.Object({ text: Type.String() });
    router.rpc({ name: 'echo', params }, async ({ text }) => text);
    const most = 2 ** 24;
    const limits = { maxBodyBytes: most, maxReplyBytes: most, maxInlineParamsBytes: most };
    const nats = { servers: server.url, role: 'member' } as const;
    const [, front] = await Promise.all([
      serve(t, { ...limits, router, nats }),
      gateway(t, server.url, limits),
    ]);
    await untilReady(front.url);
    const texts = [200_000, 130_000, 66_000, 44_000, 1_000_000, 10, 1].flatMap((length) => [
      'x'.repeat(length),
      'ä'.repeat(length),
    ]);
    const answers = texts.map(async (text) => {
      assert.equal((await call(front.url, 'echo', { text })).result, text);
    });
    await Promise.all(answers);
  });

  test('one that takes too little is refused in one line', async (t) => {
    const server = await NatsServer.startFor(t, { config: 'max_payload: 4096' });
    assert.equal(
      await refusal(server.url),
      'nats: the server takes messages of 4096 bytes at most: set max_payload in its configuration to 8192 or more',
    );
  });
});

describeNats('a stream through a gateway', () => {
  test('ends with -32004 if a value exceeds maxReplyBytes of the gateway, and the others go on', async (t) => {
    const server = await NatsServer.startFor(t);
    const router = new Router();
    router.rpc({ name: 'grow', params: Type.Object({}) }, async function* () {
      for (let length = 1; ; length *= 100) yield 'x'.repeat(length);
    });
    const nats = { servers: server.url, role: 'member' } as const;
    const options = { maxReplyBytes: 500_000 };
    const [, front] = await Promise.all([
      serve(t, { router, nats }),
      gateway(t, server.url, options),
    ]);
    await untilReady(front.url);
    for (let i = 0; i < 2; i++) {
      const request = { jsonrpc: '2.0', method: 'grow', params: {}, id: 1 };
      const lengths: number[] = [];
      await assert.rejects(
        async () => {
          const stream = front.app.dispatcher.stream(request);
          for await (const value of stream) lengths.push(String(value).length);
        },
        { code: -32004, data: { limit: 500_000 } },
      );
      assert.deepEqual(lengths, [1, 100, 10_000]);
    }
    assert.equal(front.app.dispatcher.replyMemory.stats().waiting, 0);
  });
});

const count = 10_000;

describeNats('ten thousand procedures', () => {
  test('are served through a gateway: its document comes in parts, and is that of the member', async (t) => {
    const server = await NatsServer.startFor(t);
    const { connection } = await connected(t, server.url);
    const parts: number[] = [];
    connection.subscribe('tandem.doc.>', ({ data }) => {
      parts.push((JSON.parse(Buffer.from(data).toString()) as { from: number }).from);
    });
    await connection.confirm();
    const router = new Router();
    const names = Array.from({ length: count }, (_, i) => `area${i % 100}.procedure${i}`);
    for (const [i, name] of names.entries()) {
      const doc = `Gives the number ${i}, which is the number of this procedure.`;
      router.register(
        name,
        procedure({ placement: 'inline', doc }, () => i),
      );
    }
    const nats = { servers: server.url, role: 'member' } as const;
    const [one, front] = await Promise.all([serve(t, { router, nats }), gateway(t, server.url)]);
    await untilReady(front.url);
    for (const at of [0, 1, count / 2, count - 1]) {
      assert.equal((await call(front.url, String(names[at]))).result, at);
    }
    const documents = [one, front].map(async ({ url }) => (await fetch(url)).text());
    const [own, theirs] = await Promise.all(documents);
    assert.ok(own === theirs && own !== undefined, 'the documents differ');
    for (const name of names) assert.ok(own.includes(`"${name}"`), name);
    // One behind the other. What takes long is asked for again.
    const places = [...new Set(parts)];
    assert.ok(places.length > 2, places.join());
    assert.deepEqual(
      places,
      places.map((_, i) => i * 512 * 1024),
    );
  });
});
