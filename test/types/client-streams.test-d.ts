/** Checked by the compiler alone: each `@ts-expect-error` fails the type check when nothing is wrong there. */

import {
  type Bytes,
  type ContractOf,
  createClient,
  type Outcome,
  settle,
} from '../../src/client/index.ts';
import { webSocket } from '../../src/client/socket.ts';
import { sse } from '../../src/client/sse.ts';
import { createCaller } from '../../src/index.ts';
import router from '../fixtures/client/streams.ts';
import type { Contract } from '../fixtures/codegen/api.ts';
import { same } from './same.ts';

interface Api {
  'feed.ticks': { params: { every: number }; result: string; yields: { at: number } };
  'feed.all': { params: { page?: number }; result: null; yields: string };
  plain: { params: { n: number }; result: number };
}

const client = createClient<Api>({ url: '', streams: sse() });
createClient<Api>({ url: '', transport: webSocket() });

async function reads(): Promise<void> {
  for await (const value of client.feed.ticks({ every: 1 }))
    same<typeof value, { at: number }>(true);
  for await (const value of client.feed.all()) same<typeof value, string>(true);
  for await (const value of client.call('feed.ticks', [1]))
    same<typeof value, { at: number }>(true);
  const iterator = client.feed.ticks({ every: 1 })[Symbol.asyncIterator]();
  same<typeof iterator, AsyncGenerator<{ at: number }, string, undefined>>(true);
  // @ts-expect-error a stream is not awaited
  await client.feed.ticks({ every: 1 });
  // @ts-expect-error a stream is not awaited
  await client.call('feed.all');
  // @ts-expect-error nor settled
  await settle(client.feed.all());
  // @ts-expect-error what is no stream is not iterated
  void client.plain({ n: 1 })[Symbol.asyncIterator];
  // @ts-expect-error every is a number
  client.feed.ticks({ every: 'x' });
  // @ts-expect-error every is missing
  client.feed.ticks();
  // Of a stream in a batch nothing is known.
  const [all, one] = await client.batch([['feed.all'], ['plain', { n: 1 }]]);
  same<typeof all, Outcome<unknown>>(true);
  same<typeof one, Outcome<number>>(true);
  // What nothing is known of can be either.
  const any = createClient({ url: '' });
  same<Awaited<ReturnType<typeof any.call>>, unknown>(true);
  for await (const value of any.call('x', {}, { reconnect: true, retries: 1 })) {
    same<typeof value, unknown>(true);
  }
}
void reads;

// The options of a stream are its own.
const { signal } = new AbortController();
client.feed.ticks({ every: 1 }, { signal, timeoutMs: 1, reconnect: true });
client.feed.ticks(
  { every: 1 },
  {
    reconnect: (last) => {
      same<typeof last, { at: number } | undefined>(true);
      return { every: last?.at ?? 1 };
    },
  },
);
// @ts-expect-error every is missing
client.feed.ticks({ every: 1 }, { reconnect: () => ({}) });
// @ts-expect-error a stream is not sent again unless it says how
client.feed.ticks({ every: 1 }, { retries: 1 });
// @ts-expect-error a call has one reply
void client.plain({ n: 1 }, { reconnect: true });

// From a router and from codegen.
const own = createClient<ContractOf<typeof router>>({ url: '', streams: sse() });
const caller = createCaller(router);
const generated = createClient<Contract>({ url: '', transport: webSocket() });
async function others(): Promise<void> {
  for await (const value of own.count({ n: 1 })) same<typeof value, number>(true);
  for await (const value of caller.bytes({ data: new Uint8Array() })) {
    same<typeof value, { part: Bytes }>(true);
  }
  for await (const { thumb } of generated.shapes.watch({ of: 'boxes' })) {
    same<typeof thumb, Bytes>(true);
  }
}
void others;

// Without `streams` or a `transport` a stream can be called, and not iterated, whatever the contract is made of.
const ownUnread = createClient<ContractOf<typeof router>>({ url: '' });
const generatedUnread = createClient<Contract>({ url: '', streams: undefined });
async function unread(): Promise<void> {
  // @ts-expect-error add streams: sse()
  for await (const value of ownUnread.count({ n: 1 })) void value;
  // @ts-expect-error add streams: sse()
  for await (const value of generatedUnread.shapes.watch({ of: 'boxes' })) void value;
  const options = { reconnect: (last?: number) => ({ n: last ?? 1 }) };
  // @ts-expect-error add streams: sse()
  for await (const value of ownUnread.count({ n: 1 }, options)) void value;
  same<Awaited<ReturnType<typeof ownUnread.plain>>, number>(true);
  // @ts-expect-error a stream is not awaited
  await ownUnread.count({ n: 1 });
}
void unread;
