/** Checked by the compiler alone: each `@ts-expect-error` fails the type check when nothing is wrong there. */
import { type Static, Type } from '@sinclair/typebox';
import {
  type CallContext,
  defaultRouter,
  rpc as defaultRpc,
  type getProcedureSchema,
  type getRegistrySchema,
  model,
  type Procedure,
  procedure,
  type RegistrySchema,
  Router,
} from '../../src/index.ts';
import { same } from './same.ts';

const router = new Router();
const { rpc } = router;
const Pair = Type.Object({ a: Type.Number(), b: Type.Optional(Type.String()) });
const User = model({ id: Type.String(), tags: Type.Array(Type.String()) });
same<Static<typeof User>, { id: string; tags: string[] }>(true);

// The handler's params are those of the schema.
rpc({ name: 'a', params: Pair }, (params, context) => {
  same<typeof params, { a: number; b?: string }>(true);
  same<typeof context, CallContext>(true);
});
rpc({ name: 'b', params: Type.Object({ user: User }) }, async ({ user }) => {
  same<typeof user, { id: string; tags: string[] }>(true);
});
// @ts-expect-error c is no parameter
rpc({ name: 'c', params: Pair }, ({ c }) => c);
// @ts-expect-error a is a number
rpc({ name: 'd', params: Pair }, ({ a }: { a: string }) => a);
// @ts-expect-error b may be absent
rpc({ name: 'e', params: Pair }, ({ b }) => b.length);

// Without a schema any object comes, of which nothing is known.
rpc({ name: 'f' }, (params) => {
  same<typeof params, Record<string, unknown>>(true);
});
rpc(function bare(params) {
  same<typeof params, Record<string, unknown>>(true);
});
// What its author says of it is taken on trust.
rpc(function trusted(params: { a: number }, context) {
  return params.a + context.deadline;
});
// @ts-expect-error params are an object, always
rpc(function wrong(params: number) {
  return params;
});

// The result is that of returns, now or later.
rpc({ name: 'g', returns: Type.Number() }, () => 1);
rpc({ name: 'h', returns: Type.Number() }, async () => 1);
rpc({ name: 'i', returns: Type.Number() }, () => Promise.resolve(1));
rpc({ name: 'j', returns: Type.Number() }, () => (Math.random() > 0.5 ? 1 : Promise.resolve(1)));
rpc({ name: 'k', returns: Type.Void() }, () => {});
rpc({ name: 'l' }, () => Symbol('anything'));
// @ts-expect-error no number
rpc({ name: 'm', returns: Type.Number() }, () => 'x');
// @ts-expect-error no number later
rpc({ name: 'n', returns: Type.Number() }, async () => 'x');
// @ts-expect-error tags are missing
rpc({ name: 'o', returns: User }, () => ({ id: 'x' }));
// @ts-expect-error nothing is no number
rpc({ name: 'p', returns: Type.Number() }, () => {});
// @ts-expect-error both hold
rpc({ name: 'q', params: Pair, returns: Type.String() }, ({ a }) => a);

// The module's state has the type the handler says.
rpc({ name: 'r' }, (_params, context: CallContext<{ db: string }>) => context.state.db);
rpc({ name: 's', params: Pair }, ({ a }, { state }: CallContext<number>) => a + state);

// Options are known by name and type.
// @ts-expect-error unknown option
rpc({ name: 't', colour: 'red' }, () => 1);
// @ts-expect-error no placement
rpc({ name: 'u', placement: 'pool' }, () => 1);
// @ts-expect-error params are an object schema
rpc({ name: 'v', params: Type.String() }, () => 1);
// @ts-expect-error a plain JSON Schema is none
rpc({ name: 'w', params: { type: 'object', properties: {} } }, () => 1);
// @ts-expect-error timeoutMs is a number
rpc({ name: 'x', timeoutMs: '5' }, () => 1);

// A function comes back as what it was.
const added = rpc({ params: Pair, returns: Type.Number() }, function add({ a }) {
  return a;
});
same<Parameters<typeof added>, [params: { a: number; b?: string }, context: CallContext]>(true);

// procedure infers the same.
const proc = procedure({ params: Pair, returns: Type.Number() }, (params) => {
  same<typeof params, { a: number; b?: string }>(true);
  return params.a;
});
proc satisfies Procedure;
// @ts-expect-error no string
procedure({ returns: Type.String() }, () => 1);
// @ts-expect-error no such parameter
procedure({ params: Pair }, ({ z }) => z);
procedure({}, (params) => {
  same<typeof params, Record<string, unknown>>(true);
});
procedure({}, (_params, { state }: CallContext<{ db: 1 }>) => state.db);

// As a decorator, bare and with options, static and not.
class Decorated {
  readonly #base = 1;
  @rpc one(params: { a: number }, _context: CallContext): number {
    return params.a + this.#base;
  }
  @rpc two(): void {}
  @router.rpc async three(params: Record<string, unknown>): Promise<unknown> {
    return params;
  }
  @defaultRouter.rpc static four(params: { a: string }): string {
    return params.a;
  }
  @rpc five(_params: object, context: CallContext<{ db: 1 }>): number {
    return context.state.db;
  }
  @rpc({ params: Pair, returns: Type.Number() })
  six({ a }: { a: number; b?: string }): number {
    return a + this.#base;
  }
  @rpc({ params: Pair, returns: Type.Number() })
  static async seven({ a }: { a: number }, context: CallContext<{ db: 1 }>): Promise<number> {
    return a + context.state.db;
  }
  @defaultRpc({ name: 'x.y' }) static eight(): void {}
  // @ts-expect-error the result is a string
  @rpc({ returns: Type.Number() })
  nine(): string {
    return 'x';
  }
  // @ts-expect-error a is a number
  @rpc({ params: Pair })
  ten({ a }: { a: string }): string {
    return a;
  }
  // @ts-expect-error methods only
  @rpc field = 1;
  // @ts-expect-error methods only
  @rpc get accessor(): number {
    return 1;
  }
}
void Decorated;
// @ts-expect-error methods only
@rpc
class Whole {}
void Whole;

router.register('x', proc, { replace: true });
router.merge(new Router(), 'x.', { replace: false });
// @ts-expect-error a function is no procedure
router.register('x', () => 1);
same<ReturnType<typeof router.get>, Procedure | undefined>(true);
same<ReturnType<typeof router.list>, string[]>(true);
same<ReturnType<typeof router.reloadModule>, Promise<boolean>>(true);
same<ReturnType<typeof getRegistrySchema>, RegistrySchema>(true);
same<ReturnType<typeof getProcedureSchema>['parameters'][number]['required'], boolean>(true);

// authorize gets the context and the params of the schema, and answers with nothing.
interface Db {
  readonly db: string;
}
rpc(
  {
    name: 'authorized',
    params: Pair,
    errors: { DENIED: { code: 1, message: 'Denied' } },
    authorize(context, params) {
      same<typeof params, { a: number; b?: string }>(true);
      same<typeof context.auth, unknown>(true);
      throw context.errors.DENIED();
    },
  },
  ({ a }) => a,
);
rpc({ name: 'authorizedLater', params: Pair, authorize: async () => {} }, ({ a }) => a);
// The state that it names is the handler's, too.
rpc(
  { name: 'authorizedByState', authorize: ({ state }: CallContext<Db>) => void state.db },
  (_params, context) => {
    same<typeof context.state, Db>(true);
  },
);
procedure(
  { name: 'p', params: Pair, authorize: ({ state }: CallContext<Db>) => void state.db },
  ({ a }) => a,
);
class Authorized {
  @rpc({
    name: 'authorizedMethod',
    params: Pair,
    authorize(_context, params) {
      same<typeof params, { a: number; b?: string }>(true);
    },
  })
  static method({ a }: { a: number }) {
    return a;
  }
}
void Authorized;
// @ts-expect-error true and false are no answers
rpc({ name: 'wrongAuthorize', authorize: () => true }, () => 1);
// @ts-expect-error not later either
rpc({ name: 'wrongAuthorizeLater', authorize: async () => false }, () => 1);
// @ts-expect-error a is a number
rpc({ name: 'wrongParams', params: Pair, authorize: (_, { a }: { a: string }) => void a }, () => 1);
