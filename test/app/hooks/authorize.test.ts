import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { json, post, rpc } from '../../http/raw-client.ts';
import { servers } from '../../servers.ts';
import { serve } from './serve.ts';

describe('authorize and context.auth', () => {
  for (const transport of servers) {
    test(`hold in both places, over ${transport}`, async (t) => {
      const { client, lines } = await serve(t, transport, {
        authenticate: ({ headers }) => ({ user: headers['x-user'] }),
      });
      const one = client();
      const as = (user: string, body: string) => one.ask(post(body, { 'x-user': user }));
      for (const method of ['own.inline', 'own.worker', 'ownLater.inline', 'ownLater.worker']) {
        assert.equal(json(await as('ann', rpc(method, { owner: 'ann' }))).result, 'ann', method);
        assert.deepEqual(
          json(await as('bob', rpc(method, { owner: 'ann' }))).error,
          { code: 4030, message: 'Not yours' },
          method,
        );
        assert.equal(json(await as('bob', rpc(method, { owner: 1 }))).error.code, -32602, method);
        // Each call of a batch is asked about by itself.
        const batch = `[${rpc(method, { owner: 'ann' }, 1)},${rpc(method, { owner: 'bob' }, 2)}]`;
        const replies = json(await as('bob', batch)) as unknown as Record<string, unknown>[];
        assert.deepEqual(
          replies.map(({ id, result }) => [id, result]),
          [
            [1, undefined],
            [2, 'bob'],
          ],
          method,
        );
      }
      assert.deepEqual(
        lines.filter(({ level }) => level === 'error'),
        [],
      );
    });
  }
});
