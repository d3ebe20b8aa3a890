import { Router, Type } from 'tandem-rpc';

const router = new Router();

// Cheap for all params, so it runs on the main thread.
router.rpc(
  {
    name: 'greet',
    doc: 'Greets somebody by name.',
    params: Type.Object({ name: Type.String({ minLength: 1, examples: ['Ada'] }) }),
    returns: Type.String(),
    placement: 'inline',
  },
  ({ name }) => `Hello, ${name}!`,
);

// Synchronous and heavy: it runs in a worker thread, and other calls are answered meanwhile.
router.rpc(
  {
    name: 'primes.count',
    doc: 'Counts the prime numbers below a limit.',
    params: Type.Object({
      below: Type.Integer({ minimum: 0, maximum: 10_000_000, examples: [1_000_000] }),
    }),
    returns: Type.Integer(),
  },
  ({ below }) => {
    const isComposite = new Uint8Array(below);
    let count = 0;
    for (let n = 2; n < below; n++) {
      if (isComposite[n]) continue;
      count++;
      for (let multiple = n * n; multiple < below; multiple += n) isComposite[multiple] = 1;
    }
    return count;
  },
);

export default router;
