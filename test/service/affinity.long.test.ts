import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DispatchOptions } from '../../src/index.ts';
import { fixture, Running, resultOf } from './running.ts';

const options = { modules: [fixture('affinity.ts')], workers: 2, spareWorkers: 0 };

/** The calls of a procedure with affinity, by outcome. */
function countsOf(running: Running, method: string) {
  const calls = running.dispatcher.metrics?.snapshot().calls;
  const counts = calls?.find(({ procedure }) => procedure === method)?.affinity;
  return { hit: 0, steal: 0, none: 0, ...counts?.calls };
}

/** The thread of the first call that goes to the worker of its key. Others go elsewhere while the machine holds that worker up. */
async function homeOf(
  running: Running,
  method: string,
  [params, options]: readonly [params: object, options?: DispatchOptions],
): Promise<unknown> {
  const before = countsOf(running, method);
  for (let calls = 1; ; calls++) {
    const thread = resultOf(await running.ask({ method, params, id: 1 }, options));
    const { hit, steal, none } = countsOf(running, method);
    assert.deepEqual([hit + steal, none], [before.hit + before.steal + calls, before.none]);
    if (hit > before.hit) return thread;
  }
}

for (const [method, keyOf] of [
  ['render', (key: number) => [{ docId: key }] as const],
  ['mine', (key: number) => [{}, { remoteAddress: `192.0.2.${key}` }] as const],
] as const) {
  test(`${method}: one call at a time goes to the worker of its key, and both workers have keys`, async (t) => {
    const running = await Running.start(t, options);
    const round = async (): Promise<unknown[]> => {
      const threads: unknown[] = [];
      for (let key = 0; key < 10; key++) {
        threads.push(await homeOf(running, method, keyOf(key)));
      }
      return threads;
    };
    const threads = await round();
    assert.equal(new Set(threads).size, 2);
    assert.deepEqual(await round(), threads);
  });
}

test('positional params have no key, and JSON-RPC batches none', async (t) => {
  const running = await Running.start(t, options);
  resultOf(await running.ask({ method: 'render', params: ['a'], id: 1 }));
  const entry = { method: 'render', params: { docId: 'a' }, id: 1 };
  assert.equal(JSON.parse((await running.ask([entry, entry])) ?? '').length, 2);
  assert.deepEqual(countsOf(running, 'render'), { hit: 0, steal: 0, none: 1 });
});

test('calls with affinity, with maxConcurrency beside it and without are all answered', async (t) => {
  const running = await Running.start(t, options);
  const methods = ['bounded', 'anywhere', 'mine', 'render'];
  const calls = Array.from({ length: 80 }, (_, id) =>
    running.ask({ method: methods[id % 4], params: { docId: id % 7 }, id }),
  );
  for (const reply of await Promise.all(calls)) assert.equal(typeof resultOf(reply), 'number');
});
