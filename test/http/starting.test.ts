import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Dispatcher, Router } from '../../src/index.ts';
import { listen } from '../../src/server/http/listen.ts';
import { servers } from '../servers.ts';
import { json, post, RawClient, rpc } from './raw-client.ts';
import { defaults } from './stub-server.ts';

for (const transport of servers) {
  for (const bytes of [10, 100_000]) {
    test(`a call of ${bytes} bytes that comes before the service is ready is kept: ${transport}`, async (t) => {
      const router = new Router();
      router.rpc({ name: 'length', placement: 'inline' }, ({ text }) => String(text).length);
      const dispatcher = new Dispatcher({ router, logLevel: 'silent' });
      const server = await listen(dispatcher, defaults, transport);
      const clients = [1, 2].map(() => new RawClient(server.address.port));
      t.after(async () => {
        for (const client of clients) client.destroy();
        await server.close();
        await dispatcher.close();
      });
      assert.equal(dispatcher.state, 'starting');
      // The first one starts the service; the memory it came in is written over by the second one.
      const replies = await Promise.all(
        clients.map((client, i) =>
          client.ask(post(rpc('length', { text: 'x'.repeat(bytes + i) }))),
        ),
      );
      assert.deepEqual(
        replies.map((reply) => json(reply).result),
        [bytes, bytes + 1],
      );
    });
  }
}
