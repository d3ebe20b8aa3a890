/** Checked by the compiler alone: each `@ts-expect-error` fails the type check when nothing is wrong there. */
import { Type } from '@sinclair/typebox';
import {
  type ContractOf,
  createClient,
  hasCode,
  type Outcome,
  RpcError,
  type RpcTransportError,
  settle,
} from '../../src/client/index.ts';
import { model, procedure, Router } from '../../src/index.ts';
import { same } from './same.ts';

interface User {
  readonly id: string;
}

/** As codegen writes it: an interface. */
interface Api {
  'math.add': { params: { a: number; b?: number }; result: number };
  'users.get': {
    params: { id: string };
    result: User;
    errors: { NotFound: { code: 404; data: { id: string } }; Closed: { code: 423 } };
  };
  'users.admin.purge': { params: Record<string, never>; result: null };
  users: { params: { page?: number }; result: User[] };
  ping: { params: object; result: string };
  'odd-name/x': { params: object; result: 1 };
  'a.then': { params: object; result: 1 };
  batch: { params: object; result: 1 };
}

const client = createClient<Api>({ url: 'http://localhost/rpc' });

// The proxy follows the dots; what is optional may be left out.
same<Awaited<ReturnType<typeof client.math.add>>, number>(true);
void client.math.add({ a: 1 });
void client.math.add({ a: 1, b: 2 }, { timeoutMs: 5, idempotent: true, retries: 0 });
void client.ping();
void client.ping(undefined, { signal: new AbortController().signal });
void client.users.admin.purge();
void client['odd-name/x']();
// @ts-expect-error a is missing
void client.math.add();
// @ts-expect-error a is missing
void client.math.add({ b: 1 });
// @ts-expect-error a is a number
void client.math.add({ a: '1' });
// @ts-expect-error no such param
void client.math.add({ a: 1, c: 1 });
// @ts-expect-error named only
void client.math.add([1, 2]);
// @ts-expect-error no such procedure
void client.math.sub({ a: 1 });
// @ts-expect-error no such option
void client.math.add({ a: 1 }, { timeout: 5 });
// @ts-expect-error a namespace is no procedure
void client.math({ a: 1 });

// A name can be a procedure and a namespace.
same<Awaited<ReturnType<typeof client.users>>, User[]>(true);
same<Awaited<ReturnType<typeof client.users.get>>, User>(true);

// What the proxy leaves to JavaScript, or needs itself, is reached by call.
// @ts-expect-error then is not followed
void client.a.then;
same<Awaited<ReturnType<typeof client.batch<[]>>>, []>(true);
void client.call('batch');
void client.call('a.then');

// call takes positional params too.
same<Awaited<ReturnType<typeof client.call<'math.add'>>>, number>(true);
void client.call('math.add', { a: 1 });
void client.call('math.add', [1, 2], { retries: 1 });
void client.notify('math.add', [1]);
void client.notify('ping');
// @ts-expect-error no such procedure
void client.call('math.sub', { a: 1 });
// @ts-expect-error a is missing
void client.call('math.add');
// @ts-expect-error a is a number
void client.call('math.add', { a: '1' });
// @ts-expect-error a is a number
void client.notify('math.add', { a: '1' });

// A batch gives a tuple of outcomes.
async function batches(): Promise<void> {
  const [sum, user, pong] = await client.batch([
    ['math.add', { a: 1, b: 2 }],
    ['users.get', ['x']],
    ['ping'],
  ]);
  same<typeof sum, Outcome<number>>(true);
  same<typeof pong, Outcome<string>>(true);
  if (sum.ok) same<typeof sum.result, number>(true);
  // @ts-expect-error it may have failed
  void sum.result;
  if (!user.ok && hasCode(user.error, 404)) same<typeof user.error.data, { id: string }>(true);
  // @ts-expect-error there are three
  (await client.batch([['ping']]))[1];
  // @ts-expect-error a is a number
  await client.batch([['math.add', { a: '1' }]]);
  // @ts-expect-error no such procedure
  await client.batch([['math.sub', { a: 1 }]]);
  // Of a list made elsewhere, a list.
  const many = ['x', 'y'].map((id) => ['users.get', { id }] as const);
  const [first] = await client.batch(many);
  if (first?.ok) same<typeof first.result, User>(true);
}
void batches;

// Declared errors, by settle and by hasCode.
async function errors(): Promise<void> {
  const outcome = await settle(client.users.get({ id: 'x' }));
  if (outcome.ok) {
    same<typeof outcome.result, User>(true);
    return;
  }
  const { error } = outcome;
  same<
    typeof error,
    RpcError<404, { id: string }> | RpcError<423, undefined> | RpcError | RpcTransportError
  >(true);
  same<typeof error.code, number | undefined>(true);
  if (hasCode(error, 404)) same<typeof error.data, { id: string }>(true);
  else if (hasCode(error, 423)) same<typeof error.data, undefined>(true);
  else if (hasCode(error, -32602)) same<typeof error.data, unknown>(true);
  else if (error instanceof RpcError) same<typeof error.method, string>(true);
  else void error.status;
  try {
    await client.ping();
  } catch (thrown) {
    if (hasCode(thrown, 5)) same<typeof thrown, RpcError<5>>(true);
  }
}
void errors;
// @ts-expect-error a promise of something else
void settle(Promise.resolve(1));

// Options.
createClient({ url: new URL('http://localhost'), headers: { a: 'b' }, fetch, batch: { max: 10 } });
createClient({ url: '/rpc', headers: async () => ({ authorization: 'x' }) });
createClient({ url: '/rpc', headers: () => new Headers() });
// @ts-expect-error url is needed
createClient({});
// @ts-expect-error no such option
createClient({ url: '', timeout: 5 });
// @ts-expect-error max is needed
createClient({ url: '', batch: {} });
// @ts-expect-error an entry has params and a result
createClient<{ a: { result: number } }>({ url: '' });

// Without a contract, any name, by call.
const untyped = createClient({ url: '/rpc' });
same<Awaited<ReturnType<typeof untyped.call>>, unknown>(true);
void untyped.call('anything', { a: 1 });
void untyped.batch([['a'], ['b', [1]]]);

// A contract inferred from a router made as one object.
const math = Router.from({
  add: procedure(
    {
      params: Type.Object({ a: Type.Number(), b: Type.Optional(Type.Number()) }),
      returns: Type.Number(),
    },
    ({ a, b = 0 }) => a + b,
  ),
});
const router = Router.from({
  math,
  text: {
    upper: procedure(
      { params: model({ text: Type.String() }), returns: Type.String() },
      ({ text }) => text.toUpperCase(),
    ),
    deep: { er: procedure({ returns: Type.Void() }, () => {}) },
  },
  'flat.name': procedure({ returns: Type.Union([Type.String(), Type.Undefined()]) }, () => 'x'),
  lost: new Router().get('x') ?? procedure({}, () => 1),
});
type Inferred = ContractOf<typeof router>;
same<keyof Inferred & string, 'math.add' | 'text.upper' | 'text.deep.er' | 'flat.name' | 'lost'>(
  true,
);
same<Inferred['math.add']['params'], { a: number; b?: number }>(true);
same<Inferred['text.deep.er']['params'], Record<string, unknown>>(true);
same<Inferred['text.deep.er']['result'], null>(true);
same<Inferred['flat.name']['result'], string | null>(true);
same<Inferred['lost']['result'], unknown>(true);
const inferred = createClient<Inferred>({ url: '/rpc' });
same<Awaited<ReturnType<typeof inferred.math.add>>, number>(true);
void inferred.math.add({ a: 1 });
void inferred.text.deep.er();
void inferred.flat.name();
// @ts-expect-error text is a string
void inferred.text.upper({ text: 1 });

// Routers within, keys with dots, names that the proxy leaves to JavaScript.
const upper = procedure({ returns: Type.String() }, () => 'x');
const within = Router.from({
  plain: new Router(),
  inner: router,
  deep: { 'a.b': upper, toString: upper, toJSON: upper },
  batch: upper,
});
const nested = createClient<ContractOf<typeof within>>({ url: '' });
same<Awaited<ReturnType<typeof nested.inner.math.add>>, number>(true);
void nested.inner.flat.name();
same<Awaited<ReturnType<typeof nested.deep.a.b>>, string>(true);
void nested.call('inner.text.deep.er');
// @ts-expect-error toJSON is not followed
void nested.deep.toJSON;
same<Awaited<ReturnType<typeof nested.batch<[]>>>, []>(true);

// Such a router is a Router like any other.
router satisfies Router;
router.rpc(function more() {});
// @ts-expect-error a function is no procedure
Router.from({ a: () => 1 });
// @ts-expect-error a router made otherwise has no contract
createClient<ContractOf<Router>>({ url: '' }).math;
