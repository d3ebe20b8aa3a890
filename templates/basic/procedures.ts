import { model, Router, RpcError, Type } from 'tandem-rpc';

/** What the handlers rely on: who calls (no hook says so yet, see README.md), and what `setup` returns. */
interface Environment {
  readonly auth: { readonly name: string } | undefined;
  readonly state: { readonly greetings: ReadonlyMap<string, string> };
}

/** Runs once in the main thread and once in each worker: database handles, models, caches. */
export function setup(): Environment['state'] {
  return {
    greetings: new Map([
      ['en', 'Hello'],
      ['de', 'Hallo'],
    ]),
  };
}

// A middleware: it runs around every handler of this router.
const app = new Router<Environment>().use(({ log }, next) => {
  const began = performance.now();
  return next({}, ({ ok }) => log.debug({ ok, ms: performance.now() - began }, 'ended'));
});

const greet = app.procedure(
  {
    doc: 'Greets somebody by name.',
    params: Type.Object({
      name: Type.String({ minLength: 1, examples: ['Ada'] }),
      language: Type.Optional(Type.String()),
    }),
    returns: Type.String(),
    errors: { UnknownLanguage: { code: 404, message: 'No greeting in this language' } },
    // It changes nothing, so a GET may call it: /api/greet?name=Ada
    effects: { readOnly: true },
    // Cheap whatever a caller sends. What says nothing and is synchronous runs in a worker.
    placement: 'inline',
  },
  ({ name, language = 'en' }, { state, errors }) => {
    const greeting = state.greetings.get(language);
    if (greeting === undefined) throw errors.UnknownLanguage();
    return `${greeting}, ${name}!`;
  },
);

const stats = app.procedure(
  {
    doc: 'Counts and averages. It burns CPU for long lists, in a worker thread.',
    params: Type.Object({ values: Type.Array(Type.Number(), { examples: [[1, 2, 3]] }) }),
    returns: model({
      count: Type.Integer(),
      mean: Type.Number({ description: 'The arithmetic mean, 0 of an empty list.' }),
    }),
  },
  ({ values }) => {
    const sum = values.reduce((total, value) => total + value, 0);
    return { count: values.length, mean: values.length === 0 ? 0 : sum / values.length };
  },
);

const whoAmI = app.procedure(
  {
    doc: 'The name of the caller.',
    returns: Type.String(),
    authorize({ auth }) {
      if (auth === undefined) throw new RpcError(401, 'Sign in');
    },
    placement: 'inline',
  },
  (_params, { auth }) => auth?.name ?? '',
);

/** The path of a procedure is its name: `greet`, `numbers.stats`. */
export default Router.from({ greet, numbers: { stats }, whoAmI });
