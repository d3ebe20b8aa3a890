/** Checked by the compiler alone: options for the hooks of TanStack Query, of the newest version. */
import { QueryClient, skipToken } from '@tanstack/query-core';
import {
  useInfiniteQuery,
  useMutation,
  useQueries,
  useQuery,
  useQueryClient,
  useSuspenseQuery,
} from '@tanstack/react-query';
import { type CallErrorOf, type ContractOf, createClient } from '../../src/client/index.ts';
import { tanstackQueries } from '../../src/client/tanstack.ts';
import { procedure, Router, Type } from '../../src/index.ts';
import { same } from './same.ts';

interface Order {
  readonly id: string;
}

/** As codegen writes it. */
interface Api {
  'orders.list': {
    params: { after?: string; limit?: number };
    result: { orders: Order[]; next: string | null };
    errors: { Closed: { code: 423; data: { until: string } } };
    effects: { readOnly: true };
  };
  'orders.get': { params: { id: string }; result: Order; effects: { readOnly: true } };
  'orders.place': { params: { item: string }; result: Order; effects: { idempotent: true } };
  'orders.lines.clear': { params: object; result: null; effects: object };
  ping: { params: object; result: string };
  ticks: { params: { every: number }; result: null; yields: number; effects: { readOnly: true } };
}

const client = createClient<Api>({ url: 'http://localhost/rpc' });
// The contract is known from the client.
const queries = tanstackQueries(client);

export function Component(): void {
  const listed = useQuery(queries.queryOptions('orders.list', { limit: 5 }));
  same<typeof listed.data, { orders: Order[]; next: string | null } | undefined>(true);
  same<NonNullable<typeof listed.error>, CallErrorOf<Api['orders.list']>>(true);
  same<ReturnType<typeof useSuspenseQuery<string>>['data'], string>(true);
  const always = useSuspenseQuery(queries.queryOptions('orders.get', { id: 'a' }));
  same<typeof always.data, Order>(true);
  // All params are optional: they may be left out.
  const pinged = useQuery(queries.queryOptions('ping'));
  same<typeof pinged.data, string | undefined>(true);
  const selected = useQuery(
    queries.queryOptions(
      'orders.get',
      { id: 'a' },
      { select: ({ id }) => id.length, staleTime: 5 },
    ),
  );
  same<typeof selected.data, number | undefined>(true);
  const given = useQuery(
    queries.queryOptions('orders.get', { id: 'a' }, { initialData: { id: 'a' } }),
  );
  same<typeof given.data, Order>(true);
  const [first, second] = useQueries({
    queries: [queries.queryOptions('orders.get', { id: 'a' }), queries.queryOptions('ping')],
  });
  same<typeof first.data, Order | undefined>(true);
  same<typeof second.data, string | undefined>(true);
  const skipped = useQuery(
    queries.queryOptions('orders.get', Math.random() < 1 ? skipToken : { id: 'a' }),
  );
  same<typeof skipped.data, Order | undefined>(true);
  // @ts-expect-error id is missing
  void queries.queryOptions('orders.get');
  // @ts-expect-error a wrong type
  void queries.queryOptions('orders.get', { id: 1 });
  // @ts-expect-error it is declared not to be read-only
  void queries.queryOptions('orders.place', { item: 'a' });
  // @ts-expect-error streams have options of their own
  void queries.queryOptions('ticks', { every: 1 });
  // @ts-expect-error there is no such option
  void queries.queryOptions('ping', {}, { staleTyme: 5 } satisfies Parameters<typeof useQuery>[0]);

  const placing = useMutation(
    queries.mutationOptions('orders.place', {
      onMutate: ({ item }) => ({ before: item }),
      onError: (error, { item }, context) => void [error.message, item, context?.before],
    }),
  );
  same<typeof placing.data, Order | undefined>(true);
  placing.mutate({ item: 'a' });
  // @ts-expect-error item is missing
  placing.mutate();
  const clearing = useMutation(queries.mutationOptions('orders.lines.clear'));
  clearing.mutate();
  // Without effects it is both.
  void useMutation(queries.mutationOptions('ping'));
  // @ts-expect-error it is read-only
  void queries.mutationOptions('orders.list');

  const pages = useInfiniteQuery(
    queries.infiniteOptions('orders.list', (after: string) => ({ after }), {
      initialPageParam: '',
      getNextPageParam: ({ next }) => next,
    }),
  );
  same<NonNullable<typeof pages.data>['pages'], { orders: Order[]; next: string | null }[]>(true);

  const ticks = useQuery(queries.streamedOptions('ticks', { every: 5 }, { refetchMode: 'append' }));
  same<typeof ticks.data, number[] | undefined>(true);
  // @ts-expect-error it is no stream
  void queries.streamedOptions('ping');

  const cache = useQueryClient();
  void cache.invalidateQueries({ queryKey: queries.key('orders') });
  void cache.invalidateQueries({ queryKey: queries.key('orders.lines') });
  void cache.invalidateQueries({ queryKey: queries.key('orders.list', { limit: 5 }) });
  void cache.invalidateQueries({ queryKey: queries.key() });
  // @ts-expect-error no procedure begins so
  void queries.key('order');
}

// Without a framework: the key knows what is cached.
const cached = new QueryClient().getQueryData(
  queries.queryOptions('orders.get', { id: 'a' }).queryKey,
);
same<typeof cached, Order | undefined>(true);

const router = Router.from({
  sum: procedure(
    {
      params: Type.Object({ a: Type.Number() }),
      returns: Type.Number(),
      effects: { readOnly: true },
    },
    ({ a }) => a,
  ),
  add: procedure(
    { params: Type.Object({ a: Type.Number() }), effects: { readOnly: false } },
    ({ a }) => a,
  ),
});
const mixed = Router.from({
  silent: procedure({ returns: Type.Number() }, () => 1),
  empty: procedure({ effects: {} }, () => 1),
  wipe: procedure({ effects: { destructive: true } }, () => 1),
});
const own = tanstackQueries(createClient<ContractOf<typeof router>>({ url: '/rpc' }));
// @ts-expect-error it is declared not to be read-only
void own.queryOptions('add', { a: 1 });
const any = tanstackQueries(createClient<ContractOf<typeof mixed>>({ url: '/rpc' }));
// What declares no effects is both.
void [any.queryOptions('silent'), any.mutationOptions('silent')];
void [any.queryOptions('empty'), any.mutationOptions('empty')];
void any.mutationOptions('wipe');
// @ts-expect-error it may destroy
void any.queryOptions('wipe');
export const sum = () =>
  useQuery(own.queryOptions('sum', { a: 1 })).data satisfies number | undefined;
