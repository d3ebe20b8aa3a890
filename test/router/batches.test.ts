import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type BatchContext,
  Dispatcher,
  getProcedureSchema,
  inOrder,
  procedure,
  Router,
  Type,
} from '../../src/index.ts';
import { seed } from '../seed.ts';
import { isRefused } from './run.ts';

test('a batch procedure that can not work is refused, and the message says what to do', () => {
  const handler = (params: readonly unknown[]): unknown[] => params.map(() => 1);
  for (const [options, given, text] of [
    [{ batch: 64 }, handler, 'option batch must be an object: { max, parallel? }, got 64'],
    [
      { batch: {} },
      handler,
      'option batch.max must be a whole number of calls (for single calls leave batch out), 2 to 1024, got undefined',
    ],
    [
      { batch: { max: 1 } },
      handler,
      'option batch.max must be a whole number of calls (for single calls leave batch out), 2 to 1024, got 1',
    ],
    [
      { batch: { max: 2000 } },
      handler,
      'option batch.max must be a whole number of calls (for single calls leave batch out), 2 to 1024, got 2000',
    ],
    [{ batch: { max: 8, wait: 2 } }, handler, 'unknown option "batch.wait". Known: max, parallel'],
    [
      { batch: { max: 8, parallel: 0 } },
      async () => [],
      'option batch.parallel must be a whole number of runs, 1 or more, got 0',
    ],
    [
      { batch: { max: 8, parallel: 2 } },
      handler,
      'option batch.parallel is for an asynchronous handler, and a synchronous one runs once at a time: leave parallel out, or declare async: true for a function that returns a promise',
    ],
    [
      { batch: { max: 8 }, yields: Type.Number() },
      handler,
      "option yields can't stand beside batch: a stream is opened by one call: leave yields out, or batch",
    ],
    [
      { batch: { max: 8 }, stream: true },
      handler,
      "option stream can't stand beside batch: a stream is opened by one call: leave stream out, or batch",
    ],
    [
      { batch: { max: 8 }, maxConcurrency: 1 },
      handler,
      "option maxConcurrency can't stand beside batch: batch.parallel bounds how many runs there are at a time. For one at a time everywhere use a group of one worker: leave maxConcurrency out",
    ],
    [
      { batch: { max: 8 } },
      function* () {},
      'option batch is not for a generator function, which is a stream: return an array with a result for each call',
    ],
  ] as const) {
    const make = () => procedure({ name: 'get', ...options } as never, given as never);
    isRefused(make, `procedure "get": ${text}`);
  }
  procedure({ batch: { max: 8, parallel: 2 }, async: true }, () => Promise.resolve([]));
});

test('documents show a batch procedure as any other', () => {
  const options = { name: 'get', params: Type.Object({ id: Type.Integer() }) } as const;
  const single = procedure(options, ({ id }) => id);
  const many = procedure({ ...options, batch: { max: 8 } }, (params) => params.map(({ id }) => id));
  assert.deepEqual(getProcedureSchema(many), getProcedureSchema(single));
});

test('a decorated method takes many calls, bound to its instance', async (t) => {
  const router = new Router();
  class Users {
    readonly #prefix = 'user';

    @router.rpc({ params: Type.Object({ id: Type.Integer() }), batch: { max: 8 } })
    names(params: readonly { id: number }[], { calls }: BatchContext): string[] {
      return params.map(({ id }) => `${this.#prefix} ${id} of ${calls.length}`);
    }
  }
  new Users();
  const dispatcher = new Dispatcher({ router, logLevel: 'silent' });
  t.after(() => dispatcher.close());
  await dispatcher.ready();
  const replies = await Promise.all(
    [1, 2, 3].map((id) => dispatcher.dispatch({ method: 'names', params: { id }, id })),
  );
  const results = replies.map((reply) => (reply as { result: unknown }).result);
  assert.deepEqual(results, ['user 1 of 3', 'user 2 of 3', 'user 3 of 3']);
});

test('inOrder gives each key its own row, in whatever order rows come and whichever are missing', () => {
  const key = fc.nat({ max: 12 });
  const property = fc.property(
    fc.array(key),
    fc.uniqueArray(key),
    (keys: readonly number[], stored: readonly number[]) => {
      const rows = stored.map((id) => ({ id, name: `row ${id}` }));
      const placed = inOrder(
        keys,
        rows,
        ({ id }) => id,
        (id) => new Error(`no ${id}`),
      );
      assert.deepEqual(
        placed.map((one) => (one instanceof Error ? one.message : one.name)),
        keys.map((id) => (stored.includes(id) ? `row ${id}` : `no ${id}`)),
      );
    },
  );
  fc.assert(property, { seed });
});
