/**
 * What a caller knows of a result without `returns`: what JSON makes of what the handler returns. Checked by the compiler
 * alone.
 */

import { type ContractOf, createClient } from '../../src/client/index.ts';
import type { JsonOf } from '../../src/core/schema/declared.ts';
import {
  createCaller,
  type JsonCannotCarry,
  procedure,
  Router,
  reply,
  Type,
} from '../../src/index.ts';
import { same } from './same.ts';

interface User {
  readonly id: string;
  name?: string;
  tags: readonly string[];
}

// What JSON leaves as it is keeps its name.
interface Tree {
  value: number;
  kids: Tree[];
}
type Json = string | number | boolean | null | Json[] | { [name: string]: Json };
type Pair = [number, Pair | null];
type Variant = { kind: 'a'; a: 1; b?: undefined } | { kind: 'b'; b: 2; a?: undefined };
same<JsonOf<User | null>, User | null>(true);
same<JsonOf<Tree[]>, Tree[]>(true);
same<JsonOf<Json>, Json>(true);
same<JsonOf<Pair>, Pair>(true);
same<JsonOf<Variant>, Variant>(true);
same<JsonOf<string & { brand: 1 }>, string & { brand: 1 }>(true);
same<JsonOf<boolean>, boolean>(true);
same<JsonOf<unknown>, unknown>(true);
same<JsonOf<never>, never>(true);
same<JsonOf<{ a: unknown; readonly b: 1 }>, { a: unknown; readonly b: 1 }>(true);
const anything: (value: string) => JsonOf<ReturnType<typeof JSON.parse>> = (text) => text.length;
anything('x').of.any.kind;

// What has a toJSON is what that gives.
class Money {
  readonly cents: number = 1;
  toJSON() {
    return { cents: this.cents, at: new Date() };
  }
}
class Itself {
  a = 1;
  toJSON() {
    return this;
  }
}
same<JsonOf<Date>, string>(true);
same<JsonOf<URL>, string>(true);
same<JsonOf<{ price: Money }>, { price: { cents: number; at: string } }>(true);
same<JsonOf<Itself>, { a: number }>(true);
same<JsonOf<{ toJSON: typeof JSON.parse }>, ReturnType<typeof JSON.parse>>(true);
same<JsonOf<{ toJSON(): unknown }>, unknown>(true);
same<JsonOf<{ toJSON(): Date[] | null }>, string[] | null>(true);
same<JsonOf<{ user: User; at: Date; later?: Date }>, { user: User; at: string; later?: string }>(
  true,
);

// A member that may be undefined may be missing, and a function or a symbol is left out.
class Point {
  x = 1;
  #y = 2;
  readonly label: string | (() => string) = 'x';
  move(): number {
    return this.#y;
  }
  onMove?: () => void;
}
same<JsonOf<{ a: number | undefined; readonly b: 1 }>, { readonly b: 1; a?: number }>(true);
same<JsonOf<{ a: undefined }>, { a?: never }>(true);
same<JsonOf<Point>, { x: number; readonly label?: string }>(true);
same<JsonOf<{ within: { a: 1; m?: () => void } }>, { within: { a: 1 } }>(true);
same<JsonOf<{ [Symbol.iterator]: 1; a: symbol; b: 1 }>, { b: 1 }>(true);
same<JsonOf<Record<string, Date>>, Record<string, string>>(true);
same<JsonOf<Record<'a' | 'b', Date>>, Record<'a' | 'b', string>>(true);

// In arrays and tuples these are null.
same<JsonOf<(Date | undefined | (() => 1))[]>, (string | null)[]>(true);
same<JsonOf<readonly Date[]>, readonly string[]>(true);
same<JsonOf<[Date, 'x', symbol]>, [string, 'x', null]>(true);
same<JsonOf<readonly [1, ...Date[]]>, readonly [1, ...string[]]>(true);

// A type that holds itself ends, wherever it does.
interface Dated {
  at: Date;
  parent?: Dated;
  kids: Dated[];
}
type Dates = Date | Dates[];
interface Wide<T> {
  value: T;
  next?: Wide<T[]>;
}
declare const dated: JsonOf<Dated>;
same<typeof dated.at, string>(true);
same<NonNullable<(typeof dated.kids)[number]['parent']>['at'], string>(true);
declare const dates: JsonOf<Dates>;
if (typeof dates !== 'string') same<typeof dates, JsonOf<Dates>[]>(true);
same<NonNullable<JsonOf<Wide<Date>>['next']>['value'], string[]>(true);
same<JsonOf<Wide<1>>, Wide<1>>(true);

// What JSON can't carry has a type that no use of it fits, and whose name says what to do.
same<JsonOf<bigint>, JsonCannotCarry<'a bigint: return a string'>>(true);
same<
  JsonOf<{ rows: Map<string, User> }>,
  { rows: JsonCannotCarry<'a Map: return Object.fromEntries(map)'> }
>(true);
same<JsonOf<ReadonlySet<string>[]>, JsonCannotCarry<'a Set: return [...set]'>[]>(true);
same<
  JsonOf<{ user: Promise<User> } | null>,
  { user: JsonCannotCarry<'a promise: await it'> } | null
>(true);
type NoBytes = JsonCannotCarry<'bytes: declare Type.Base64() in returns'>;
same<JsonOf<Uint8Array>, NoBytes>(true);
same<JsonOf<{ picture: Buffer }>, { picture: NoBytes }>(true);
same<JsonOf<ArrayBuffer>, NoBytes>(true);
same<JsonOf<Float64Array[]>, NoBytes[]>(true);
same<JsonOf<symbol>, JsonCannotCarry<'a symbol'>>(true);
same<JsonOf<() => 1>, JsonCannotCarry<'a function'>>(true);

// From each way to make a procedure to each way to call it.
const app = new Router<{ auth: User | undefined; state: { rows: User[] } }>();
const signedIn = app.use(({ auth }, next) => (auth ? next({ user: auth }) : reply(null)));
const nothing = (): void => {};
const userOf = (id: string): User => ({ id, tags: [] });
const router = Router.from({
  plain: procedure({}, () => userOf('x')),
  later: app.procedure({ params: { id: Type.String() } }, async ({ id }) => ({
    user: userOf(id),
    at: new Date(),
    with: Math.random() > 0.5 ? 'x' : undefined,
  })),
  either: procedure({}, () => (Math.random() > 0.5 ? Math.random() : Promise.resolve('x'))),
  thenable: procedure({}, (): PromiseLike<Date> => Promise.resolve(new Date())),
  nothing: procedure({}, () => {}),
  maybe: procedure({}, async () => (Math.random() > 0.5 ? userOf('x') : undefined)),
  silent: procedure({}, (): User | ReturnType<typeof nothing> => nothing()),
  fails: procedure({}, () => {
    throw new Error('always');
  }),
  unknown: procedure({}, (params) => params.x),
  big: procedure({}, () => ({ count: 1n })),
  mine: signedIn.procedure({}, (_params, { user, state }) => ({ user, rows: state.rows.length })),
  inner: Router.from({ list: procedure({}, () => [userOf('x')]) }),
  // Declared, the schema wins: the rest of what is returned is not sent.
  declared: procedure({ returns: Type.Object({ id: Type.String() }) }, () => userOf('x')),
  literal: procedure(
    { returns: Type.Union([Type.Literal('a'), Type.Literal('b')]) },
    async () => 'a' as const,
  ),
  shown: procedure({ tool: 'content' }, () => ({
    content: [{ type: 'image', data: new Uint8Array(), mimeType: 'image/png' }],
  })),
});
type Api = ContractOf<typeof router>;
same<Api['plain']['result'], User>(true);
same<Api['later']['result'], { user: User; at: string; with?: string }>(true);
same<Api['either']['result'], string | number>(true);
same<Api['thenable']['result'], string>(true);
same<Api['nothing']['result'], null>(true);
same<Api['maybe']['result'], User | null>(true);
same<Api['silent']['result'], User | null>(true);
same<Api['fails']['result'], never>(true);
same<Api['unknown']['result'], unknown>(true);
same<Api['mine']['result'], { user: User; rows: number }>(true);
same<Api['inner.list']['result'], User[]>(true);
same<Api['declared']['result'], { id: string }>(true);
same<Api['literal']['result'], 'a' | 'b'>(true);
same<Api['shown']['result'], unknown>(true);
async function calls(): Promise<void> {
  const client = createClient<Api>({ url: '' });
  const caller = createCaller(router);
  same<Awaited<ReturnType<typeof client.plain>>, User>(true);
  same<Awaited<ReturnType<typeof caller.inner.list>>, User[]>(true);
  same<Awaited<ReturnType<typeof client.call<'plain'>>>, User>(true);
  const { count } = await client.big();
  // @ts-expect-error JSON cannot carry a bigint
  const n: number = count;
  // @ts-expect-error nor is it one
  void (count + 1n);
  void n;
}
void calls;
// @ts-expect-error no such result
procedure({ returns: Type.Literal('a') }, () => 'b');
// @ts-expect-error not later either
procedure({ returns: Type.Object({ id: Type.String() }) }, async () => ({ id: 1 }));
// A function comes back with its own result.
const { rpc } = app;
const given = rpc({ name: 'given', params: { id: Type.String() } }, ({ id }) => userOf(id));
same<ReturnType<typeof given>, User>(true);
const kept = rpc({ name: 'kept', returns: Type.Number() }, () => 1);
same<ReturnType<typeof kept>, number | Promise<number>>(true);

// Streams: the values of a generator, and what it returns.
async function* ticks({ from = 0 }: { from?: number }) {
  yield { at: new Date(from) };
  return 'end' as const;
}
const streams = Router.from({
  ticks: procedure({}, ticks),
  sync: procedure({}, function* () {
    yield 1;
    yield userOf('x');
  }),
  list: procedure({ stream: true }, () => [new Date()]),
  ends: procedure({ stream: { collect: true } }, () => ticks({})),
  half: procedure({ yields: Type.Object({ at: Type.String() }) }, async function* () {
    yield { at: 'x' };
    return new Date();
  }),
  otherHalf: procedure({ stream: true, returns: Type.String() }, async function* () {
    yield new Date();
    return 'end';
  }),
  big: procedure({}, async function* () {
    yield 1n;
  }),
});
type Streams = ContractOf<typeof streams>;
same<Streams['ticks']['yields'], { at: string }>(true);
same<Streams['ticks']['result'], 'end'>(true);
same<Streams['sync']['yields'], User | 1>(true);
same<Streams['sync']['result'], null>(true);
same<Streams['list']['yields'], string>(true);
same<Streams['list']['result'], null>(true);
same<Streams['ends']['yields'], { at: string }>(true);
same<Streams['ends']['result'], 'end'>(true);
same<Streams['half']['yields'], { at: string }>(true);
same<Streams['half']['result'], string>(true);
same<Streams['otherHalf']['yields'], string>(true);
same<Streams['otherHalf']['result'], string>(true);
same<Streams['big']['yields'], JsonCannotCarry<'a bigint: return a string'>>(true);
async function reads(): Promise<void> {
  for await (const { at } of createCaller(streams).ticks()) same<typeof at, string>(true);
}
void reads;

// What a procedure does to the world, as far as clients decide by it.
const effects = Router.from({
  get: procedure({ effects: { readOnly: true } }, () => 1),
  put: procedure({ effects: { idempotent: true, readOnly: false, openWorld: true } }, () => 1),
  both: procedure({ effects: { idempotent: true, readOnly: true } }, () => 1),
  add: procedure({}, () => 1),
  perhaps: procedure({ effects: { readOnly: Math.random() > 0.5 } }, () => 1),
  ticks: procedure({ effects: { readOnly: true } }, ticks),
});
type Effects = ContractOf<typeof effects>;
same<Effects['get']['effects'], { readonly readOnly: true }>(true);
same<Effects['put']['effects'], { readonly idempotent: true }>(true);
same<Effects['both']['effects'], { readonly idempotent: true; readonly readOnly: true }>(true);
same<keyof Effects['add']['effects'], never>(true);
same<keyof Effects['perhaps']['effects'], never>(true);
same<Effects['ticks']['effects'], { readonly readOnly: true }>(true);
type Reads<C> = {
  [Name in keyof C & string]: C[Name] extends { effects: { readOnly: true } } ? Name : never;
}[keyof C & string];
same<Reads<Effects>, 'get' | 'both' | 'ticks'>(true);
// A contract written before there were effects stays one; an effect is true or absent.
createClient<{ get: { params: object; result: 1 } }>({ url: '' });
createClient<{ get: { params: object; result: 1; effects: { readOnly: true } } }>({ url: '' });
// @ts-expect-error no effect
createClient<{ get: { params: object; result: 1; effects: { readOnly: 1 } } }>({ url: '' });

// A handler that returns any is no stream, and its result unknown, whether it is async or not.
const untyped = Router.from({
  now: procedure({}, () => JSON.parse('1')),
  later: procedure({}, async () => JSON.parse('1')),
});
type Untyped = ContractOf<typeof untyped>;
same<Untyped['now']['result'], unknown>(true);
same<Untyped['later']['result'], unknown>(true);
same<'yields' extends keyof Untyped['now'] ? true : false, false>(true);
