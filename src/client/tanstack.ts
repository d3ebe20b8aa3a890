import {
  type DataTag,
  experimental_streamedQuery,
  type InfiniteData,
  type InfiniteQueryObserverOptions,
  type MutationObserverOptions,
  type QueryFunction,
  type QueryObserverOptions,
  type SkipToken,
} from '@tanstack/query-core';
import type { Contract, NameOf, ParamsOf } from './contract.ts';
import type { CallErrors, CallParams, CallResult, Client } from './types.ts';

/**
 * The key of a query: `['tandem', ['orders', 'list'], { type: 'query', params }]`. TanStack Query compares keys part by part, so
 * `['tandem', ['orders']]` stands for all procedures whose names begin with `orders.`.
 */
export type QueryKey = readonly [root: string, path?: readonly string[], what?: object];

/** Without `effects` a procedure may be both, a query and a mutation. */
type Effects<Entry> = Entry extends { readonly effects: infer E extends object }
  ? E
  : { readonly readOnly: true };

/** Procedures whose calls change nothing, as far as their contract tells. Streams are not among them. */
export type QueryName<C> = {
  [Name in NameOf<C>]: 'yields' extends keyof C[Name]
    ? never
    : Effects<C[Name]> extends { readonly readOnly: true }
      ? Name
      : never;
}[NameOf<C>];

/** Procedures that are not declared to be read-only. Streams are not among them. */
export type MutationName<C> = {
  [Name in NameOf<C>]: 'yields' extends keyof C[Name]
    ? never
    : C[Name] extends { readonly effects: { readonly readOnly: true } }
      ? never
      : Name;
}[NameOf<C>];

export type StreamName<C> = {
  [Name in NameOf<C>]: C[Name] extends { readonly yields: unknown } ? Name : never;
}[NameOf<C>];

/** `orders` and `orders.lines` of `orders.lines.add`. */
type PrefixOf<Name> = Name extends `${infer First}.${infer Rest}`
  ? First | `${First}.${PrefixOf<Rest>}`
  : never;

type ValueOf<C, Name extends NameOf<C>> = C[Name] extends { readonly yields: infer Value }
  ? Value
  : never;

/** Those among them whose params are all optional. */
type Bare<C, Names extends NameOf<C>> = {
  [Name in Names]: Record<never, never> extends CallParams<C, Name> ? Name : never;
}[Names];

type Own =
  | 'queryKey'
  | 'queryFn'
  | 'queryHash'
  | 'queryKeyHashFn'
  | 'initialPageParam'
  | 'getNextPageParam';

/** The options of a query beside its key and its function. `Selected`: what `select` gives. */
type QueryExtras<Data, Failure, Selected> = Partial<
  Omit<QueryObserverOptions<Data, Failure, Selected, Data, QueryKey>, Own>
>;

interface Initial<Data> {
  readonly initialData: Data | (() => Data);
}

/** What TanStack's hooks infer the types of data and error from. */
interface QueryBase<Data, Failure, Skip = never> {
  readonly queryKey: DataTag<QueryKey, Data, Failure>;
  readonly queryFn: QueryFunction<Data, QueryKey> | Skip;
  readonly retryDelay?: number | ((failureCount: number, error: Failure) => number);
}

type InfiniteExtras<Data, Failure, Page, Selected> = Partial<
  Omit<InfiniteQueryObserverOptions<Data, Failure, Selected, QueryKey, Page>, Own>
> &
  Pick<
    InfiniteQueryObserverOptions<Data, Failure, Selected, QueryKey, Page>,
    'initialPageParam' | 'getNextPageParam'
  >;

interface InfiniteBase<Data, Failure, Page> {
  readonly queryKey: DataTag<QueryKey, InfiniteData<Data, Page>, Failure>;
  readonly queryFn: QueryFunction<Data, QueryKey, Page>;
  readonly retryDelay?: number | ((failureCount: number, error: Failure) => number);
}

type MutationVariables<Params> =
  // biome-ignore lint/suspicious/noConfusingVoidType: `mutate()` takes no argument then
  Record<never, never> extends Params ? Params | void : Params;

/** Options for the hooks of TanStack Query, of any framework, by the names of procedures. */
export interface TanstackQueries<C> {
  /** For `useQuery`, `useSuspenseQuery`, `prefetchQuery` and the like. The query's signal aborts the call. */
  queryOptions<const Name extends Bare<C, QueryName<C>>>(
    name: Name,
  ): QueryExtras<CallResult<C, Name>, CallErrors<C, Name>, CallResult<C, Name>> &
    QueryBase<CallResult<C, Name>, CallErrors<C, Name>>;
  /** @param options other options of the query. With `initialData` there is always data */
  queryOptions<const Name extends QueryName<C>, Selected = CallResult<C, Name>>(
    name: Name,
    params: CallParams<C, Name>,
    options: QueryExtras<CallResult<C, Name>, CallErrors<C, Name>, Selected> &
      Initial<CallResult<C, Name>>,
  ): Omit<QueryExtras<CallResult<C, Name>, CallErrors<C, Name>, Selected>, 'initialData'> &
    Initial<CallResult<C, Name>> &
    QueryBase<CallResult<C, Name>, CallErrors<C, Name>>;
  /** @param options other options of the query */
  queryOptions<const Name extends QueryName<C>, Selected = CallResult<C, Name>>(
    name: Name,
    params: CallParams<C, Name>,
    options?: QueryExtras<CallResult<C, Name>, CallErrors<C, Name>, Selected>,
  ): QueryExtras<CallResult<C, Name>, CallErrors<C, Name>, Selected> &
    QueryBase<CallResult<C, Name>, CallErrors<C, Name>>;
  /** @param params TanStack's `skipToken`: not yet */
  queryOptions<const Name extends QueryName<C>, Selected = CallResult<C, Name>>(
    name: Name,
    params: CallParams<C, Name> | SkipToken,
    options?: QueryExtras<CallResult<C, Name>, CallErrors<C, Name>, Selected>,
  ): QueryExtras<CallResult<C, Name>, CallErrors<C, Name>, Selected> &
    QueryBase<CallResult<C, Name>, CallErrors<C, Name>, SkipToken>;

  /**
   * For `useInfiniteQuery`: pages of a query.
   *
   * @param paramsOf the params for a page
   */
  infiniteOptions<
    const Name extends QueryName<C>,
    Page,
    Selected = InfiniteData<CallResult<C, Name>, Page>,
  >(
    name: Name,
    paramsOf: (page: Page) => CallParams<C, Name>,
    options: InfiniteExtras<CallResult<C, Name>, CallErrors<C, Name>, Page, Selected>,
  ): InfiniteExtras<CallResult<C, Name>, CallErrors<C, Name>, Page, Selected> &
    InfiniteBase<CallResult<C, Name>, CallErrors<C, Name>, Page>;

  /** For `useMutation`. Its variables are the params. */
  mutationOptions<const Name extends MutationName<C>, Context = unknown>(
    name: Name,
    options?: Omit<
      MutationObserverOptions<
        CallResult<C, Name>,
        CallErrors<C, Name>,
        MutationVariables<CallParams<C, Name>>,
        Context
      >,
      'mutationKey' | 'mutationFn'
    >,
  ): MutationObserverOptions<
    CallResult<C, Name>,
    CallErrors<C, Name>,
    MutationVariables<CallParams<C, Name>>,
    Context
  >;

  /** For `useQuery` over a stream: its data is the list of the values so far. The client needs `streams`, or a `transport`. */
  streamedOptions<const Name extends Bare<C, StreamName<C>>>(
    name: Name,
  ): QueryExtras<ValueOf<C, Name>[], CallErrors<C, Name>, ValueOf<C, Name>[]> &
    QueryBase<ValueOf<C, Name>[], CallErrors<C, Name>>;
  /**
   * @param options other options of the query, and `refetchMode`: what becomes of the values of an earlier run ('reset', the default;
   *   'append'; 'replace' when the stream has ended)
   */
  streamedOptions<const Name extends StreamName<C>, Selected = ValueOf<C, Name>[]>(
    name: Name,
    params: CallParams<C, Name>,
    options?: QueryExtras<ValueOf<C, Name>[], CallErrors<C, Name>, Selected> & Refetched,
  ): QueryExtras<ValueOf<C, Name>[], CallErrors<C, Name>, Selected> &
    QueryBase<ValueOf<C, Name>[], CallErrors<C, Name>>;
  /** @param params TanStack's `skipToken`: not yet */
  streamedOptions<const Name extends StreamName<C>, Selected = ValueOf<C, Name>[]>(
    name: Name,
    params: CallParams<C, Name> | SkipToken,
    options?: QueryExtras<ValueOf<C, Name>[], CallErrors<C, Name>, Selected> & Refetched,
  ): QueryExtras<ValueOf<C, Name>[], CallErrors<C, Name>, Selected> &
    QueryBase<ValueOf<C, Name>[], CallErrors<C, Name>, SkipToken>;

  /**
   * The key of everything that these options have cached, of all procedures below a prefix (`'orders'`), of one procedure, or of its
   * calls with these params: for `invalidateQueries({ queryKey })` and the like. Params that are left out match any.
   */
  key(): QueryKey;
  key<const Name extends NameOf<C>>(name: Name, params?: Partial<ParamsOf<C[Name]>>): QueryKey;
  key(prefix: PrefixOf<NameOf<C>>): QueryKey;
}

interface Refetched {
  readonly refetchMode?: 'append' | 'reset' | 'replace';
}

export interface TanstackQueryOptions {
  /** The first part of each key: clients of several services need different ones. Default: `tandem`. */
  readonly key?: string;
}

type Values = AsyncIterable<unknown>;
interface AnyClient {
  readonly call: (name: string, params?: unknown, options?: object) => Promise<unknown> & Values;
}
type Context = { readonly signal: AbortSignal; readonly pageParam: unknown };
type Kind = 'query' | 'infinite' | 'stream';

/**
 * Options for TanStack Query, made from a client: `useQuery(queries.queryOptions('orders.list', { page: 1 }))`. Needs
 * `@tanstack/query-core`, which every package of TanStack Query has.
 *
 * @param client made by `createClient`
 */
export function tanstackQueries<C extends Contract<C>, Streams extends boolean>(
  client: Client<C, Streams>,
  { key: root = 'tandem' }: TanstackQueryOptions = {},
): TanstackQueries<C> {
  const { call } = client as unknown as AnyClient;
  const keyOf = (name?: string, what?: object): unknown[] =>
    name === undefined ? [root] : [root, name.split('.'), ...(what ? [what] : [])];
  const queryOf = (
    type: Kind,
    name: string,
    params: unknown,
    options: object,
    queryFn: unknown,
  ) => {
    // A skipToken is the one symbol that can stand here.
    const isSkipped = typeof params === 'symbol';
    const what = isSkipped ? { type } : { type, params: params ?? {} };
    return { ...options, queryKey: keyOf(name, what), queryFn: isSkipped ? params : queryFn };
  };
  const made = {
    key: (name?: string, params?: unknown) =>
      keyOf(name, params === undefined ? undefined : { params }),
    queryOptions: (name: string, params?: unknown, options: object = {}) =>
      queryOf('query', name, params, options, ({ signal }: Context) =>
        call(name, params, { signal }),
      ),
    infiniteOptions: (
      name: string,
      paramsOf: (page: unknown) => unknown,
      options: { readonly initialPageParam: unknown },
    ) =>
      queryOf(
        'infinite',
        name,
        paramsOf(options.initialPageParam),
        options,
        ({ pageParam, signal }: Context) => call(name, paramsOf(pageParam), { signal }),
      ),
    mutationOptions: (name: string, options: object = {}) => ({
      ...options,
      mutationKey: keyOf(name),
      mutationFn: (params: unknown) => call(name, params),
    }),
    streamedOptions: (
      name: string,
      params?: unknown,
      { refetchMode, ...options }: Refetched & object = {},
    ) =>
      queryOf(
        'stream',
        name,
        params,
        options,
        experimental_streamedQuery({
          ...(refetchMode && { refetchMode }),
          // Not the call itself, which is a promise too: who awaits it does not iterate it.
          streamFn: ({ signal }) => ({
            [Symbol.asyncIterator]: () => call(name, params, { signal })[Symbol.asyncIterator](),
          }),
        }),
      ),
  };
  return made as unknown as TanstackQueries<C>;
}
