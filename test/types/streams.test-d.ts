/** Checked by the compiler alone: each `@ts-expect-error` fails the type check when nothing is wrong there. */
import { Type } from '@sinclair/typebox';
import * as v from 'valibot';
import * as z from 'zod';
import {
  type Procedure,
  type ProcedureEntry,
  procedure,
  Router,
  type StreamEntry,
} from '../../src/index.ts';
import { same } from './same.ts';

type EntryOf<P> = P extends Procedure<infer Entry> ? Entry : never;

const { rpc } = new Router();
const Every = Type.Object({ every: Type.Number() });
const yields = Type.Number();
const returns = Type.String();

// A generator, synchronous or not: params and context are known, and what is yielded and returned is checked.
rpc({ name: 'a', params: Every, yields, returns }, async function* ({ every }, { signal }) {
  same<typeof every, number>(true);
  same<typeof signal, AbortSignal>(true);
  yield every;
  return 'end';
});
rpc({ name: 'b', params: { every: Type.Number() }, yields }, function* ({ every }) {
  same<typeof every, number>(true);
  yield every;
  yield* [1, 2];
});
// @ts-expect-error a value is a number
rpc({ name: 'c', yields }, async function* () {
  yield 1;
  yield 'two';
});
// @ts-expect-error a value is a number
rpc({ name: 'd', yields }, function* () {
  yield* ['two'];
});
// @ts-expect-error it returns a text
rpc({ name: 'e', yields, returns }, async function* () {
  yield 1;
  return 2;
});
// @ts-expect-error it must return a text
rpc({ name: 'f', yields, returns }, function* () {
  yield 1;
});
// @ts-expect-error a stream is iterated, a number is not
rpc({ name: 'g', yields }, () => 1);
// @ts-expect-error a text is no stream of its letters
rpc({ name: 'h', yields: Type.String() }, () => 'abc');
// @ts-expect-error a generator has values; say which by yields
rpc({ name: 'i', returns: Type.Number() }, function* () {
  yield 1;
  return 1;
});
// Objects are checked deeply.
const Step = Type.Union([
  Type.Object({ kind: Type.Literal('step'), at: Type.Number() }),
  Type.Object({ kind: Type.Literal('note'), text: Type.String() }),
]);
rpc({ name: 'j', yields: Step, returns: Type.Literal('done') }, async function* () {
  yield { kind: 'step' as const, at: 1 };
  yield { kind: 'note' as const, text: 'x' };
  return 'done' as const;
});
// @ts-expect-error no such kind
rpc({ name: 'k', yields: Step }, async function* () {
  yield { kind: 'stop' as const, at: 1 };
});

// A plain function that returns something to iterate.
rpc({ name: 'm', stream: true, yields }, () => [1, 2, 3]);
rpc({ name: 'n', stream: true, yields }, async () => new Set([1]));
rpc({ name: 'o', stream: { drain: 'finish' }, yields, returns }, ({ x }) => {
  async function* values() {
    yield Number(x);
    return 'end';
  }
  return values();
});
rpc({ name: 'p', stream: true }, () => new ReadableStream<string>());
// @ts-expect-error the values of the set are no numbers
rpc({ name: 'q', stream: true, yields }, () => new Set(['one']));
// @ts-expect-error stream says that it is iterated
rpc({ name: 'r', stream: true }, () => 1);
// @ts-expect-error no such option
rpc({ name: 's', stream: { drain: 'later' } }, () => [1]);
// @ts-expect-error yields is a schema
rpc({ name: 't', yields: Number }, () => [1]);

// Without a schema anything is yielded.
rpc(async function* bare({ n }) {
  yield n;
});
rpc({ name: 'u' }, function* () {
  yield 1;
  yield 'two';
});

// Schemas of other libraries: what they put out.
rpc({ name: 'v', yields: z.object({ at: z.number() }) }, async function* () {
  yield { at: 1 };
});
// @ts-expect-error at is a number
rpc({ name: 'w', yields: v.object({ at: v.number() }) }, async function* () {
  yield { at: '1' };
});

// Declared errors, the environment and middleware, beside what is yielded.
const app = new Router<{ auth: { id: string }; state: { rows: number[] } }>();
const signedIn = app.use(({ auth }, next) => next({ user: auth.id }));
signedIn.rpc(
  {
    name: 'rows',
    params: Every,
    yields,
    errors: { Gone: { code: 410, message: 'Gone' } },
    use: [(_context, next) => next({ from: 7 })],
  },
  async function* ({ every }, { state, user, errors, from }) {
    same<typeof user, string>(true);
    same<typeof from, number>(true);
    if (every < 0) throw errors.Gone();
    yield* state.rows;
  },
);
export const typed = signedIn.procedure({ yields, returns }, async function* (_params, { user }) {
  yield user.length;
  return user;
});
// @ts-expect-error it returns a text
signedIn.procedure({ yields, returns }, async function* (_params, { state }) {
  yield 1;
  return state.rows;
});

// Decorators.
class Feed {
  @rpc({ params: Every, yields, returns })
  async *ticks({ every }: { every: number }) {
    yield every;
    return 'end';
  }

  @rpc({ yields })
  static *few() {
    yield* [1, 2];
  }

  @rpc({ stream: true, yields })
  list() {
    return [1];
  }

  // @ts-expect-error a value is a number
  @rpc({ yields })
  async *texts() {
    yield 'x';
  }

  // @ts-expect-error it returns a text
  @rpc({ yields, returns })
  async *wrong() {
    yield 1;
  }

  @rpc
  async *bare() {
    yield 1;
  }
}
void Feed;

// The contract: an entry of a stream has `yields` too, that of another procedure has not.
const ticks = procedure({ params: Every, yields, returns }, async function* ({ every }) {
  yield every;
  return 'end';
});
same<
  EntryOf<typeof ticks>,
  StreamEntry<typeof Every, typeof returns, Record<never, never>, typeof yields>
>(true);
same<EntryOf<typeof ticks>['yields'], number>(true);
same<EntryOf<typeof ticks>['result'], string>(true);
const open = procedure({ stream: true }, () => [1]);
same<EntryOf<typeof open>['yields'], number>(true);
same<EntryOf<typeof open>['result'], null>(true);
const silent = procedure({ yields: Type.Void() }, function* () {
  yield;
});
same<EntryOf<typeof silent>['yields'], null>(true);
const plain = procedure({ params: Every, returns }, () => 'x');
same<EntryOf<typeof plain>, ProcedureEntry<typeof Every, typeof returns, Record<never, never>>>(
  true,
);
const tree = Router.from({ feed: { ticks, open }, plain });
same<NonNullable<(typeof tree)['~contract']>['feed.ticks']['yields'], number>(true);
