/** Checked by the compiler alone: each `@ts-expect-error` fails the type check when nothing is wrong there. */
import { Type } from '@sinclair/typebox';
import type { ContractOf } from '../../src/client/index.ts';
import {
  type AnyRouter,
  type CallContext,
  type ContextOf,
  createCaller,
  type Ended,
  type Middleware,
  procedure,
  Router,
  RpcError,
  reply,
} from '../../src/index.ts';
import { same } from './same.ts';

interface User {
  readonly id: string;
}
interface Db {
  find(id: string): { name: string } | undefined;
}

// The environment reaches every form of registration.
const app = new Router<{ auth: User | undefined; state: Db }>();
type AppContext = CallContext<Db, Record<never, never>, User | undefined>;
same<ContextOf<typeof app>, AppContext>(true);
const Id = Type.Object({ id: Type.String() });
const errors = { Gone: { code: 410, message: 'Gone' } } as const;

app.rpc({ name: 'a', params: Id, errors }, ({ id }, { state, auth, errors: make }) => {
  same<typeof state, Db>(true);
  same<typeof auth, User | undefined>(true);
  if (state.find(id) === undefined) throw make.Gone();
  // @ts-expect-error not declared
  make.Lost();
});
app.rpc({ name: 'b' }, (_params, context) => {
  same<typeof context, AppContext>(true);
});
app.rpc(function bare(_params, context) {
  same<typeof context, AppContext>(true);
});
app.procedure({ params: Id }, ({ id }, { state, auth }) => {
  same<typeof state, Db>(true);
  // @ts-expect-error nobody may be signed in
  return state.find(id + auth.id);
});
app.rpc({ name: 'c' }, (_params, { state }: CallContext<Db>) => state.find('x'));
app.rpc({ name: 'd' }, (_params, context: ContextOf<typeof app>) => context.auth?.id);
app.rpc(
  {
    name: 'e',
    params: Id,
    authorize: ({ auth, state }, { id }) => {
      same<typeof auth, User | undefined>(true);
      same<typeof state, Db>(true);
      same<typeof id, string>(true);
    },
  },
  ({ id }) => id,
);
class Decorated {
  @app.rpc one(_params: object, { state, auth }: ContextOf<typeof app>): unknown {
    return state.find(auth?.id ?? '');
  }
  @app.rpc({ params: Id }) static two({ id }: { id: string }, context: ContextOf<typeof app>) {
    return context.state.find(id);
  }
  @app.rpc three(): void {}
  // @ts-expect-error nothing adds user
  @app.rpc four(_params: object, _context: ContextOf<typeof app> & { user: User }): void {}
}
void Decorated;
// @ts-expect-error an environment has auth and state
new Router<{ database: Db }>();

// What takes any router takes one of any environment.
const anyRouter: AnyRouter = app;
new Router().merge(app, 'x.');
void anyRouter;
const typed = Router.from({
  users: { get: app.procedure({ params: Id, returns: Type.String() }, ({ id }) => id) },
  app,
});
same<ContractOf<typeof typed>['users.get']['params'], { id: string }>(true);
same<ContractOf<typeof typed>['users.get']['result'], string>(true);

// use: what it adds is in the type of what it returns, and in all forms of registration.
const signedIn = app.use((context, next) => {
  same<typeof context, AppContext>(true);
  if (context.auth === undefined) throw new RpcError(401, 'Sign in');
  return next({ user: context.auth });
});
signedIn.rpc({ name: 'me' }, (_params, { user, state }) => {
  same<typeof user, User>(true);
  same<typeof state, Db>(true);
});
signedIn.rpc(function bare(_params, { user }) {
  same<typeof user, User>(true);
});
signedIn.procedure({ params: Id }, ({ id }, { user }) => user.id === id);
signedIn.rpc(
  { name: 'own', params: Id, authorize: ({ user }, { id }) => void (user.id === id) },
  ({ id }) => id,
);
class Later {
  @signedIn.rpc one(_params: object, { user }: ContextOf<typeof signedIn>): string {
    return user.id;
  }
  @signedIn.rpc({ params: Id }) static two(_params: object, context: ContextOf<typeof signedIn>) {
    return context.user.id;
  }
}
void Later;
// @ts-expect-error nothing adds role
signedIn.rpc({ name: 'm' }, (_params, { role }) => role);

// Chained: later middleware sees what earlier middleware added; asynchronous, replying, adding nothing.
const chained = signedIn
  .use(async (context, next) => {
    same<typeof context.user, User>(true);
    return next({ role: context.user.id === 'root' ? ('admin' as const) : ('user' as const) });
  })
  .use((context, next) => (context.role === 'admin' ? next() : reply('nothing to see')))
  .use(async (_context, next) => {
    const passed = await next({ tx: 7 });
    same<typeof passed.result, unknown>(true);
    return passed;
  })
  .use(() => reply(1));
chained.rpc({ name: 'chained' }, (_params, { user, role, tx, auth }) => {
  same<typeof user, User>(true);
  same<typeof role, 'admin' | 'user'>(true);
  same<typeof tx, number>(true);
  same<typeof auth, User | undefined>(true);
});

// Nothing added: the context stays what it was. auth and state may be replaced.
const plain = new Router().use((_context, next) => next());
plain.rpc({ name: 'n' }, (_params, context) => {
  same<typeof context, CallContext>(true);
});
const known = new Router<{ auth: User | undefined }>().use(({ auth }, next) => {
  if (auth === undefined) throw new RpcError(401, 'Sign in');
  return next({ auth, state: { log: [''] } });
});
known.rpc({ name: 'o' }, (_params, { auth, state }) => {
  same<typeof auth, User>(true);
  same<typeof state, { log: string[] }>(true);
});

// What middleware must not do.
// @ts-expect-error nothing is returned
new Router().use((_context, next) => {
  void next();
});
// @ts-expect-error not later either
new Router().use(async (_context, next) => {
  await next();
});
// @ts-expect-error only next and reply give an outcome
new Router().use(() => true);
// @ts-expect-error signal is reserved
new Router().use((_context, next) => next({ signal: new AbortController().signal }));
// @ts-expect-error nor may it be in a list
new Router().procedure({ use: [(_context, next) => next({ a: 1, headers: {} })] }, () => 1);
// @ts-expect-error no function
new Router().use();
// @ts-expect-error one at a time
new Router().use(plainLink, plainLink);

// Lists: inline, written apart, made by a factory, mixed.
function plainLink(_context: CallContext, next: Parameters<Middleware>[1]) {
  return next();
}
const audit: Middleware = async (context, next) => {
  const began = context.deadline;
  return next(undefined, (ended: Ended) => void (ended.ok && began));
};
const withRole =
  <const Role extends string>(role: Role): Middleware<CallContext, { role: Role }> =>
  (_context, next) =>
    next({ role });
const needsDb: Middleware<CallContext<Db>, { row: { name: string } | undefined }> = (
  { state },
  next,
) => next({ row: state.find('x') });
app.procedure({ use: [audit, (_context, next) => next({ tx: 7 })] }, (_params, { tx, state }) => {
  same<typeof tx, number>(true);
  same<typeof state, Db>(true);
});
app.rpc(
  { name: 'p', params: Id, errors, use: [withRole('admin'), needsDb, plainLink, audit] },
  ({ id }, { role, row, errors: make, auth }) => {
    same<typeof role, 'admin'>(true);
    same<typeof row, { name: string } | undefined>(true);
    same<typeof id, string>(true);
    same<typeof auth, User | undefined>(true);
    throw make.Gone();
  },
);
app.rpc({ name: 'q', use: [async (context, next) => next({ me: context.auth })] }, (_p, { me }) => {
  same<typeof me, User | undefined>(true);
});
procedure({ use: [withRole('admin')] }, (_params, { role }) => {
  same<typeof role, 'admin'>(true);
});
// Of two that add a member of one name the later one's counts.
app.procedure(
  { use: [withRole('user'), withRole('admin'), (_context, next) => next({ role: 7 })] },
  (_params, { role }) => {
    same<typeof role, number>(true);
  },
);
signedIn.procedure({ use: [(_context, next) => next({ user: 'ann' })] }, (_params, { user }) => {
  same<typeof user, string>(true);
});
class Listed {
  @app.rpc({ use: [withRole('x')] })
  one(_params: Record<string, unknown>, context: ContextOf<typeof app> & { role: 'x' }): string {
    return context.role;
  }
}
void Listed;
// @ts-expect-error it relies on a Db
new Router<{ state: string }>().procedure({ use: [needsDb] }, () => 1);
// @ts-expect-error a member returns nothing
app.procedure({ use: [(_context, next) => void next()] }, () => 1);
// @ts-expect-error a list of functions
app.procedure({ use: audit }, () => 1);

// merge: its authorize and use see the context of the router that takes over.
const root = new Router<{ auth: User | undefined }>();
root.merge(signedIn, 'admin.', {
  use: [audit, (context, next) => next({ by: context.auth?.id })],
  authorize: ({ auth }) => {
    if (auth?.id !== 'root') throw new RpcError(403, 'Forbidden');
  },
});
// @ts-expect-error true and false are no answers
root.merge(app, 'x.', { authorize: () => true });
// @ts-expect-error no such option
root.merge(app, 'x.', { authorise: () => {} });

// createCaller: typed by the contract and the environment.
const api = createCaller(typed, { auth: { id: 'ann' } });
same<Awaited<ReturnType<typeof api.users.get>>, string>(true);
// @ts-expect-error id is a string
void api.users.get({ id: 1 });
const named = createCaller(app, { auth: { id: 'ann' }, state: { find: () => undefined } });
void named.call('any.name', { a: 1 });
// @ts-expect-error a user has an id
createCaller(app, { auth: { name: 'ann' } });
// @ts-expect-error no Db
createCaller(app, { state: {} });
// @ts-expect-error no such option
createCaller(app, { user: 1 });

// Router.from: the caller gives what all procedures of the tree rely on.
const ofTree = Router.from({
  a: app.procedure({}, () => 1),
  inner: { b: signedIn.procedure({}, () => 2), c: procedure({}, () => 3) },
  further: Router.from({ d: new Router<{ auth: { role: string } }>().procedure({}, () => 4) }),
});
const db: Db = { find: () => undefined };
createCaller(ofTree, { auth: { id: 'ann', role: 'admin' }, state: db });
createCaller(ofTree, {});
// @ts-expect-error a user has an id
createCaller(ofTree, { auth: { role: 'admin' } });
// @ts-expect-error further.d needs a role
createCaller(ofTree, { auth: { id: 'ann' } });
// @ts-expect-error no Db
createCaller(ofTree, { state: {} });
// Nothing is known where no procedure says anything.
createCaller(Router.from({ c: procedure({}, () => 3) }), { auth: 1, state: 1 });
