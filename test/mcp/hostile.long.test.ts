/** docs/protocol.md, "Tools for agents (MCP)": bytes, bodies and moments that nobody wished for, over each server. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Router, Type } from '../../src/index.ts';
import { post } from '../http/raw-client.ts';
import { servers } from '../servers.ts';
import { headersOf, legacy, modern, replied, Stage, textOf } from './stage.ts';

for (const transport of servers) {
  describe(`MCP treated badly on ${transport}`, () => {
    test('a cancellation over HTTP is taken, and cancels nothing: ids of several clients may be equal', async (t) => {
      const router = new Router();
      let answer = (): void => {};
      const begun = new Promise<void>((begin) => {
        router.rpc({ name: 'wait', placement: 'inline', async: true }, (_params, { signal }) => {
          begin();
          return new Promise((resolve) => {
            answer = () => resolve(signal.aborted);
          });
        });
      });
      const own = await Stage.start(t, { transport, router });
      const waits = own.send(legacy('tools/call', { name: 'wait' }, 7));
      await begun;
      const other = own.connect();
      const body = JSON.stringify({
        jsonrpc: '2.0',
        method: 'notifications/cancelled',
        params: { requestId: 7 },
      });
      const taken = await other.ask(post(body, { host: 'localhost' }, '/mcp'));
      assert.equal(taken.status, 202);
      answer();
      assert.equal(textOf(replied(await waits).result ?? assert.fail()), 'false');
    });

    test('the list follows the procedures; a call that comes while many names are made is answered', async (t) => {
      const router = new Router();
      const params = { a: Type.Integer() };
      for (let n = 0; n < 1000; n++) router.rpc({ name: `p${n}`, placement: 'inline' }, () => n);
      const own = await Stage.start(t, { transport, router });
      const unknown = replied(await own.ask('tools/call', { name: 'late' }));
      assert.match(unknown.error?.message ?? '', /^Unknown tool: late/);
      router.rpc({ name: 'late', params, placement: 'inline' }, ({ a }) => a + 1);
      // All of these come before the new names are made.
      const clients = Array.from({ length: 8 }, () => own.connect());
      const body = modern('tools/call', { name: 'late', arguments: { a: 1 } });
      const replies = await Promise.all(
        clients.map((client) =>
          client.ask(post(body, { host: 'localhost', ...headersOf(body) }, '/mcp')),
        ),
      );
      for (const reply of replies) assert.equal(textOf(replied(reply).result as never), '2');
      const names = (await own.pages()).flat().map(({ name }) => name);
      assert.deepEqual([names.length, names.at(-1)], [1001, 'late']);
    });
  });
}

test('lists have a ttlMs of 0 if the modules are watched', async (t) => {
  const stage = await Stage.start(t, { watch: true });
  for (const method of ['tools/list', 'server/discover']) {
    assert.equal(replied(await stage.ask(method)).result?.ttlMs, 0, method);
  }
});
