/** docs/client.md, "TanStack Query". */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  InfiniteQueryObserver,
  MutationObserver,
  QueryClient,
  QueryObserver,
  skipToken,
} from '@tanstack/query-core';
import { type ContractOf, createClient, RpcError } from '../../src/client/index.ts';
import { sse } from '../../src/client/sse.ts';
import { tanstackQueries } from '../../src/client/tanstack.ts';
import { procedure, Router, Type } from '../../src/index.ts';
import { type Lifetime, startApp } from '../harness.ts';
import { until } from '../turns.ts';

const readOnly = { effects: { readOnly: true } } as const;

function makeRouter() {
  const orders: string[] = [];
  const seen = { calls: 0, aborted: 0 };
  const list = procedure(
    {
      params: Type.Object({ after: Type.Optional(Type.Integer()) }),
      errors: { Closed: { code: 423, message: 'Closed' } },
      ...readOnly,
    },
    async ({ after = 0 }, { errors }) => {
      seen.calls++;
      if (after > 100) throw errors.Closed();
      return {
        orders: orders.slice(after, after + 2),
        next: after + 2 < orders.length ? after + 2 : null,
      };
    },
  );
  const place = procedure(
    { params: Type.Object({ item: Type.String() }), effects: { idempotent: true } },
    async ({ item }) => {
      orders.push(item);
      return orders.length;
    },
  );
  const waits = procedure({ ...readOnly }, async (_params, { signal }) => {
    seen.calls++;
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    seen.aborted++;
    return null;
  });
  const ticks = procedure(
    { params: Type.Object({ count: Type.Integer() }), yields: Type.Integer(), ...readOnly },
    async function* ({ count }) {
      for (let i = 1; i <= count; i++) yield i;
    },
  );
  return { router: Router.from({ orders: { list, place }, waits, ticks }), seen };
}

async function start(t: Lifetime) {
  const { router, seen } = makeRouter();
  const { url } = await startApp(t, { router });
  const client = createClient<ContractOf<typeof router>>({ url, streams: sse() });
  const cache = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  t.after(() => cache.clear());
  return { cache, seen, client, queries: tanstackQueries(client) };
}

describe('tandem-rpc/client/tanstack', () => {
  test('a query is cached by procedure and params, and invalidated by procedure, prefix, params, or all', async (t) => {
    const { cache, queries, seen } = await start(t);
    const options = queries.queryOptions(
      'orders.list',
      { after: 0 },
      { staleTime: Number.POSITIVE_INFINITY },
    );
    for (let i = 0; i < 3; i++) {
      assert.deepEqual(await cache.fetchQuery(options), { orders: [], next: null });
    }
    assert.equal(seen.calls, 1);
    await cache.fetchQuery(queries.queryOptions('orders.list', { after: 1 }));
    assert.equal(seen.calls, 2);
    for (const [key, stale] of [
      [queries.key('ticks'), false],
      [queries.key('orders.place'), false],
      [queries.key('orders.list', { after: 1 }), false],
      [queries.key('orders.list', { after: 0 }), true],
      [queries.key('orders.list'), true],
      [queries.key('orders'), true],
      [queries.key(), true],
    ] as const) {
      await cache.fetchQuery(options);
      await cache.invalidateQueries({ queryKey: key });
      assert.equal(
        cache.getQueryState(options.queryKey)?.isInvalidated,
        stale,
        JSON.stringify(key),
      );
      await cache.refetchQueries({ queryKey: options.queryKey, exact: true });
      cache.setQueryData(options.queryKey, { orders: [], next: null });
    }
  });

  test('a query without params is that with empty ones', async (t) => {
    const { cache, queries } = await start(t);
    const bare = queries.queryOptions('orders.list');
    const empty = queries.queryOptions('orders.list', {});
    assert.deepEqual(bare.queryKey, empty.queryKey);
    await cache.fetchQuery(bare);
    await cache.invalidateQueries({ queryKey: queries.key('orders.list', {}) });
    assert.equal(cache.getQueryState(empty.queryKey)?.isInvalidated, true);
  });

  test('keys of clients of several services differ', async (t) => {
    const { client } = await start(t);
    const key = (name: string) =>
      tanstackQueries(client, { key: name }).queryOptions('waits').queryKey;
    assert.notDeepEqual(key('a'), key('b'));
  });

  test('a query that is cancelled aborts its call, and a skipped one calls nothing', async (t) => {
    const { cache, queries, seen } = await start(t);
    const observer = new QueryObserver(cache, queries.queryOptions('waits'));
    const leave = observer.subscribe(() => {});
    await until(() => seen.calls === 1);
    leave();
    await cache.cancelQueries({ queryKey: queries.key() });
    await until(() => seen.aborted === 1);
    const skipped = new QueryObserver(cache, queries.queryOptions('waits', skipToken));
    const end = skipped.subscribe(() => {});
    assert.equal(skipped.getCurrentResult().fetchStatus, 'idle');
    end();
    assert.equal(seen.calls, 1);
  });

  test('errors are those of the client', async (t) => {
    const { cache, queries } = await start(t);
    await assert.rejects(
      cache.fetchQuery(queries.queryOptions('orders.list', { after: 101 })),
      (error) => error instanceof RpcError && error.code === 423,
    );
  });

  test('a mutation takes the params, and its callbacks run', async (t) => {
    const { cache, queries } = await start(t);
    const placed: unknown[] = [];
    const observer = new MutationObserver(
      cache,
      queries.mutationOptions('orders.place', {
        onSuccess: (count, { item }) => void placed.push(count, item),
      }),
    );
    assert.equal(await observer.mutate({ item: 'mug' }), 1);
    assert.deepEqual(placed, [1, 'mug']);
    assert.deepEqual(observer.options.mutationKey, queries.key('orders.place'));
  });

  test('pages come one after another', async (t) => {
    const { cache, queries, client } = await start(t);
    for (const item of ['a', 'b', 'c', 'd', 'e']) await client.orders.place({ item });
    const observer = new InfiniteQueryObserver(
      cache,
      queries.infiniteOptions('orders.list', (after: number) => ({ after }), {
        initialPageParam: 0,
        getNextPageParam: ({ next }) => next,
      }),
    );
    const end = observer.subscribe(() => {});
    await until(() => observer.getCurrentResult().isSuccess);
    while (observer.getCurrentResult().hasNextPage) await observer.fetchNextPage();
    const pages = observer.getCurrentResult().data?.pages.map(({ orders }) => orders.join(''));
    assert.deepEqual(pages, ['ab', 'cd', 'e']);
    end();
  });

  test('a stream is the list of its values, which a second run replaces or follows', async (t) => {
    const { cache, queries } = await start(t);
    const once = queries.streamedOptions('ticks', { count: 3 });
    assert.deepEqual(await cache.fetchQuery(once), [1, 2, 3]);
    assert.deepEqual(await cache.fetchQuery(once), [1, 2, 3]);
    const more = queries.streamedOptions('ticks', { count: 2 }, { refetchMode: 'append' });
    assert.deepEqual(await cache.fetchQuery(more), [1, 2]);
    assert.deepEqual(await cache.fetchQuery(more), [1, 2, 1, 2]);
  });
});
