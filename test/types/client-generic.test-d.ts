/**
 * Checked by the compiler alone: each `@ts-expect-error` fails the type check when nothing is wrong there. What adapters for
 * query libraries are made of: code that calls any procedure of any contract.
 */
import {
  type CallErrors,
  type CallParams,
  type CallResult,
  type Client,
  type ClientOptions,
  type Contract,
  createClient,
  type RpcError,
  type RpcTransportError,
} from '../../src/client/index.ts';
import { webSocket } from '../../src/client/socket.ts';
import { sse } from '../../src/client/sse.ts';
import { same } from './same.ts';

interface Api {
  'math.add': {
    params: { a: number; b?: number };
    result: number;
    errors: { TooLarge: { code: 413; data: { max: number } } };
    effects: { readOnly: true };
  };
  ping: { params: { loud?: boolean }; result: string };
  'feed.ticks': { params: { every: number }; result: string; yields: { at: number } };
  'feed.ticks.last': { params: object; result: number };
  'feed.any': { params: object; result: null; yields: 1 };
  'feed.all': { params: { page?: number }; result: null; yields: 2 };
}

const client = createClient<Api>({ url: '' });
const reader = createClient<Api>({ url: '', streams: sse() });

// Of any contract.
function query<C extends Contract<C>, Name extends keyof C & string>(
  any: Client<C>,
  name: Name,
  params: CallParams<C, Name>,
  signal: AbortSignal,
): Promise<CallResult<C, Name>> {
  return any.call(name, params, { signal, timeoutMs: 1000 });
}
// Of one contract.
function own<Name extends keyof Api>(
  name: Name,
  params: CallParams<Api, Name>,
): Promise<CallResult<Api, Name>> {
  return client.call(name, params);
}
async function hook<Name extends keyof Api>(
  name: Name,
  params: CallParams<Api, Name>,
): Promise<CallResult<Api, Name>> {
  void client.notify(name, params);
  return await client.call(name, params, {});
}
const { signal } = new AbortController();
same<Promise<number>, ReturnType<typeof own<'math.add'>>>(true);
void (query(client, 'math.add', { a: 1 }, signal) satisfies Promise<number>);
void (query(reader, 'ping', {}, signal) satisfies Promise<string>);
void (hook('ping', {}) satisfies Promise<string>);
// @ts-expect-error a is a number
void query(client, 'math.add', { a: '1' }, signal);
// @ts-expect-error a is missing
void own('math.add', {});
// @ts-expect-error no such procedure
void own('math.sub', {});
// @ts-expect-error the second argument is the params
void client.call('math.add', { signal });

same<CallParams<Api, 'math.add'>, { a: number; b?: number }>(true);
same<CallResult<Api, 'ping'>, string>(true);
same<CallErrors<Api, 'math.add'>, RpcError<413, { max: number }> | RpcError | RpcTransportError>(
  true,
);
same<CallErrors<Api, 'ping'>, RpcError | RpcTransportError>(true);

// A client without `streams` can't iterate, and is a client like any other elsewhere.
client satisfies Client<Api>;
createClient<Api>({ url: '', transport: webSocket() }) satisfies Client<Api>;
async function streams(options: ClientOptions): Promise<void> {
  // @ts-expect-error add streams: sse()
  for await (const value of client.call('feed.ticks', { every: 1 })) void value;
  // @ts-expect-error add streams: sse()
  client.feed.ticks({ every: 1 })[Symbol.asyncIterator]();
  for await (const value of reader.call('feed.any', { any: 1 })) same<typeof value, 1>(true);
  for await (const value of reader.call('feed.all', { page: 1 })) same<typeof value, 2>(true);
  for await (const value of reader.call('feed.all', [1], { signal })) same<typeof value, 2>(true);
  // Below a stream there may be procedures.
  same<number, Awaited<ReturnType<typeof client.feed.ticks.last>>>(true);
  // Options that may have `streams`.
  for await (const value of createClient<Api>(options).feed.ticks({ every: 1 }))
    same<typeof value, { at: number }>(true);
}
void streams;
