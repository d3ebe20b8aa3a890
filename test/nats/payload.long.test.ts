import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Router, Type } from '../../src/index.ts';
import { call, gateway, serve, untilReady } from './apps.ts';
import { refusal } from './connected.ts';
import { describeNats, NatsServer } from './server.ts';

describeNats('a server that takes small messages only', () => {
  test('calls and results of any size cross, one behind the other', async (t) => {
    const server = await NatsServer.start({ config: 'max_payload: 131072' });
    t.after(() => server.close());
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
    const server = await NatsServer.start({ config: 'max_payload: 4096' });
    t.after(() => server.close());
    assert.equal(
      await refusal(server.url),
      'nats: the server takes messages of 4096 bytes at most: set max_payload in its configuration to 8192 or more',
    );
  });
});
