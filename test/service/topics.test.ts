import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../turns.ts';
import { fixture, Running } from './running.ts';

const modules = [fixture('topics.ts')];

test('a topic hands values from one call to the streams of others, and says in a worker that it reaches nobody', async (t) => {
  const { dispatcher, lines } = Running.make(t, { modules });
  const listeners = [1, 2].map((id) => dispatcher.stream({ method: 'listen', id }));
  for (const stream of listeners) assert.equal((await stream.next()).value, 0);
  await dispatcher.dispatch({ method: 'publish', params: { n: 7 }, id: 3 });
  for (const stream of listeners) {
    assert.equal((await stream.next()).value, 7);
    await stream.return(undefined);
  }
  for (const [method, what] of [
    ['publishInWorker', 'publish'],
    ['listenInWorker', 'subscribe'],
  ] as const) {
    const reply = await dispatcher.dispatch({ method, params: { n: 1 }, id: 4 });
    assert.equal((reply as { error: { code: number } }).error.code, -32603);
    // The line of a worker comes beside its reply.
    const fault = () => lines.find(({ fields }) => fields.method === method);
    await until(() => fault() !== undefined);
    const told = `a topic lives on the main thread, and this is a worker, where ${what} would reach nobody`;
    assert.match(String(fault()?.fields.detail), new RegExp(told));
  }
});
