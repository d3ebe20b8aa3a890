import { model, Router, Type } from 'tandem-rpc';

const Stats = model({
  count: Type.Integer(),
  mean: Type.Number({ description: 'The arithmetic mean, 0 of an empty list.' }),
});

const router = new Router();

router.rpc(
  {
    name: 'greet',
    doc: 'Greets somebody by name.',
    params: Type.Object({ name: Type.String({ minLength: 1, examples: ['Ada'] }) }),
    returns: Type.String(),
    // Cheap whatever a caller sends. What says nothing and is synchronous runs in a worker.
    placement: 'inline',
  },
  ({ name }) => `Hello, ${name}!`,
);

router.rpc(
  {
    name: 'numbers.stats',
    doc: 'Counts and averages. It burns CPU for long lists, in a worker thread.',
    params: Type.Object({ values: Type.Array(Type.Number(), { examples: [[1, 2, 3]] }) }),
    returns: Stats,
  },
  ({ values }) => {
    const sum = values.reduce((total, value) => total + value, 0);
    return { count: values.length, mean: values.length === 0 ? 0 : sum / values.length };
  },
);

export default router;
