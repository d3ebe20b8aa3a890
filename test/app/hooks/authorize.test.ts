import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Dispatcher } from '../../../src/index.ts';
import { moduleUrl } from '../../files.ts';
import { json, post, rpc } from '../../http/raw-client.ts';
import { patience } from '../../patience.ts';
import { needs } from '../../servers.ts';
import { serve } from './harness.ts';

describe('authorize and context.auth', () => {
  for (const transport of ['uws', 'node'] as const) {
    test(`hold in both places, over ${transport}`, needs(transport), async (t) => {
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

describe('the placement of a synchronous procedure behind an asynchronous authorize', () => {
  const modules = [moduleUrl('test/fixtures/app/hooks/measured.ts')];
  const common = {
    modules,
    workers: 1,
    spareWorkers: 0,
    niceIncrement: 0,
    ...patience,
    logLevel: 'silent',
  } as const;
  const run = async (dispatcher: Dispatcher, method: string, ms: number) => {
    const batch = Array.from({ length: 300 }, (_, id) => ({ method, id, params: { ms } }));
    const replies = (await dispatcher.dispatch(batch)) as { result?: unknown }[];
    assert.ok(replies.every(({ result }) => typeof result === 'number'));
  };

  test('is measured by its handler: a slow one stays in the workers', async (t) => {
    const dispatcher = new Dispatcher({ ...common, inlineBelowUs: 100 });
    t.after(() => dispatcher.close());
    await dispatcher.ready();
    for (const method of ['slow', 'slowBehindPromise']) {
      await run(dispatcher, method, 0.3);
      assert.equal(dispatcher.placementOf(method)?.place, 'worker', method);
    }
  });

  test('one that is quick moves inline, and back at its first slow run there', async (t) => {
    const limits = { inlineBelowUs: 1000, demoteAboveUs: 1000 };
    const dispatcher = new Dispatcher({ ...common, ...limits });
    t.after(() => dispatcher.close());
    await dispatcher.ready();
    // A busy machine may need more than one go.
    while (dispatcher.placementOf('either')?.place !== 'inline') await run(dispatcher, 'either', 0);
    await dispatcher.dispatch({ method: 'either', params: { ms: 2 }, id: 1 });
    assert.equal(dispatcher.placementOf('either')?.place, 'worker');
  });
});
