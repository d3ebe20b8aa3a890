import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fixture, Running, resultOf } from './running.ts';

const options = { modules: [fixture('affinity.ts')], workers: 2, spareWorkers: 0 };

/** Value of a series of /metrics; 0: there is none. */
async function countOf(running: Running, series: string): Promise<number> {
  const text = (await running.dispatcher.metrics?.text()) ?? '';
  const line = text.split('\n').find((one) => one.startsWith(`${series} `));
  return line === undefined ? 0 : Number(line.slice(series.length + 1));
}

test('affinity: one call at a time goes to the worker of its key; positional params and JSON-RPC batches have no key', async (t) => {
  const running = await Running.start(t, options);
  for (let id = 0; id < 20; id++) {
    resultOf(await running.ask({ method: 'render', params: { docId: 'a' }, id }));
  }
  resultOf(await running.ask({ method: 'render', params: ['a'], id: 1 }));
  const entry = { method: 'render', params: { docId: 'a' }, id: 1 };
  assert.equal(JSON.parse((await running.ask([entry, entry])) ?? '').length, 2);
  const total = (outcome: string): Promise<number> =>
    countOf(running, `tandem_affinity_total{procedure="render",outcome="${outcome}"}`);
  const [hits, steals] = [await total('hit'), await total('steal')];
  // A worker that the machine holds up counts as busy: another one takes the call.
  assert.equal(hits + steals, 20);
  assert.ok(hits > 10, `${hits} hits`);
  assert.equal(await total('none'), 1);
});

test("affinity 'caller': the calls of one caller go to one worker, beside maxConcurrency and calls without affinity", async (t) => {
  const running = await Running.start(t, options);
  for (let id = 0; id < 20; id++) {
    resultOf(await running.ask({ method: 'mine', params: {}, id }));
  }
  const hits = await countOf(running, 'tandem_affinity_total{procedure="mine",outcome="hit"}');
  assert.ok(hits > 10, `${hits} hits`);
  const methods = ['bounded', 'anywhere', 'mine', 'render'];
  const calls = Array.from({ length: 80 }, (_, id) =>
    running.ask({ method: methods[id % 4], params: { docId: id % 7 }, id }),
  );
  for (const reply of await Promise.all(calls)) assert.equal(typeof resultOf(reply), 'number');
});
