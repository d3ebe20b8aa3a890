import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import {
  type ContractOf,
  createClient,
  hasCode,
  RpcError,
  settle,
} from '../../src/client/index.ts';
import { procedure, Router } from '../../src/index.ts';
import { moduleUrl } from '../files.ts';
import type { router } from '../fixtures/client/procedures.ts';
import { suiteLifetime } from '../harness.ts';
import { deferred } from '../turns.ts';
import { serve } from './serve.ts';

type Api = ContractOf<typeof router>;

const connect = (url: string) => createClient<Api>({ url, retries: 0 });

describe('the client and the server', () => {
  let url: string;
  let client: ReturnType<typeof connect>;
  const lifetime = suiteLifetime();
  before(async () => {
    url = await serve(lifetime);
    client = connect(url);
  });

  it('call by the dots, with named params', async () => {
    assert.equal(await client.math.add({ a: 1, b: 2 }), 3);
    assert.equal(await client.math.add({ a: 1 }), 11);
  });

  it('call by name, with named and positional params', async () => {
    assert.equal(await client.call('math.add', { a: 1, b: 2 }), 3);
    assert.equal(await client.call('math.add', [1, 2]), 3);
    assert.equal(await client.call('math.add', [1]), 11);
  });

  it('carry every JSON value there and back', async () => {
    const values = [null, true, 0, -1.5, '', 'é\u2028"\\', [], [null], {}, { a: { b: [1] } }];
    for (const value of values) assert.deepEqual(await client.echo({ value }), value);
    const large = 'x'.repeat(1_000_000);
    assert.equal(await client.echo({ value: large }), large);
  });

  it('give null for what returns nothing', async () => {
    assert.equal(await client.nothing(), null);
  });

  for (const place of ['pooled', 'inline'] as const) {
    it(`bring declared and undeclared errors whole, ${place}`, async () => {
      const call = (id: string) => settle(client.users[place]({ id }));
      assert.deepEqual(await call('x'), { ok: true, result: { id: 'x' } });

      const none = await call('none');
      assert.ok(!none.ok && hasCode(none.error, 404));
      assert.equal(none.error.message, 'No such user');
      assert.equal(none.error.data.id, 'none');
      assert.equal(none.error.method, `users.${place}`);

      const closed = await call('closed');
      assert.ok(!closed.ok && hasCode(closed.error, 423));
      assert.equal(closed.error.data, undefined);

      const other = await call('other');
      assert.ok(!other.ok && hasCode(other.error, 77));
      assert.deepEqual(other.error.data, ['other']);
    });
  }

  it('report what the server refuses', async () => {
    // What the types refuse has to be written past them.
    const loose = createClient({ url, retries: 0 });
    await assert.rejects(loose.call('math.ad'), (error) => {
      assert.ok(error instanceof RpcError);
      assert.equal(error.code, -32601);
      assert.deepEqual(error.data, { method: 'math.ad', didYouMean: 'math.add' });
      return true;
    });
    await assert.rejects(loose.call('math.add', { a: 'x' }), (error) => {
      assert.ok(hasCode(error, -32602));
      assert.equal((error.data as { path: string }[])[0]?.path, '/a');
      return true;
    });
    await assert.rejects(client.boom(), (error) => {
      assert.ok(hasCode(error, -32603));
      assert.ok(!JSON.stringify(error.data).includes('secret'));
      return true;
    });
  });

  it('run a batch, each call with an outcome of its own', async () => {
    const [sum, none, echo, text] = await client.batch([
      ['math.add', { a: 1, b: 2 }],
      ['users.pooled', { id: 'none' }],
      ['echo', ['x']],
      ['nothing'],
    ]);
    assert.deepEqual(
      [sum, echo, text],
      [
        { ok: true, result: 3 },
        { ok: true, result: 'x' },
        { ok: true, result: null },
      ],
    );
    assert.ok(!none.ok && hasCode(none.error, 404));
    assert.equal(none.error.data.id, 'none');
    assert.equal(none.error.method, 'users.pooled');
    assert.deepEqual(await client.batch([]), []);
    assert.deepEqual(await client.batch([['math.add', [2, 3]]]), [{ ok: true, result: 5 }]);
  });

  it('keep the deadline of the caller', async () => {
    await assert.rejects(client.never({}, { timeoutMs: 20 }), (error) => {
      assert.ok(hasCode(error, -32001));
      assert.equal(error.method, 'never');
      return true;
    });
    const outcomes = await client.batch([['never'], ['math.add', [1]]], { timeoutMs: 20 });
    for (const outcome of outcomes) assert.ok(!outcome.ok && hasCode(outcome.error, -32001));
  });

  it('batch the calls of one turn', async () => {
    const automatic = createClient<Api>({ url, batch: { max: 2 } });
    const results = await Promise.all([
      automatic.math.add({ a: 1, b: 1 }),
      settle(automatic.users.pooled({ id: 'none' })),
      automatic.notify('nothing'),
      automatic.math.add({ a: 2, b: 2 }),
      automatic.echo({ value: 'last' }),
    ]);
    assert.deepEqual([results[0], results[3], results[4]], [2, 4, 'last']);
    assert.ok(!results[1].ok && hasCode(results[1].error, 404));
  });
});

describe('the client and the server, together', () => {
  it('send headers, asked for anew for each request', async (t) => {
    const module = moduleUrl('test/fixtures/client/procedures.ts');
    const url = await serve(t, { modules: [module], forwardHeaders: ['x-tenant'] });
    let asked = 0;
    const headers = async () => {
      asked += 1;
      return { 'X-Tenant': `tenant ${asked}` };
    };
    const asking = createClient<Api>({ url, headers });
    assert.equal(await asking.header(), 'tenant 1');
    assert.equal(await asking.header(), 'tenant 2');
    const fixed = createClient<Api>({ url, headers: { 'x-tenant': 'a' } });
    assert.equal(await fixed.header(), 'a');
  });

  it('end the work of a call that was aborted', async (t) => {
    const running = deferred<void>();
    const aborted = deferred<void>();
    const router = Router.from({
      hang: procedure({}, async (_params, { signal }) => {
        running.resolve();
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
        aborted.resolve();
      }),
    });
    const url = await serve(t, { router });
    const client = createClient<ContractOf<typeof router>>({ url });
    const controller = new AbortController();
    const call = client.hang({}, { signal: controller.signal });
    await running.promise;
    const reason = new Error('changed my mind');
    controller.abort(reason);
    await assert.rejects(call, (error) => error === reason);
    await aborted.promise;
    await assert.rejects(client.hang({}, { signal: controller.signal }), (e) => e === reason);
  });
});
