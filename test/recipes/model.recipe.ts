import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createClient } from '../../src/client/index.ts';
import { createModel } from './onnx.ts';
import { play } from './play.ts';

/** Rounds of the model's loop that take some hundred milliseconds, and more than any machine can do in a minute. */
const some = 1000 * 100_000;
const endless = 1000 * 1e12;

describe('docs/recipes/model.md', () => {
  it('serves a model in a group', async (t) => {
    const { terminal } = await play('model', { files: { 'model.onnx': createModel(4) } });
    t.after(() => terminal.close());
    const origin = `http://127.0.0.1:${terminal.portOf('8000')}`;
    const client = createClient({ url: `${origin}/rpc` });
    const score = (first: number) => client.call('score', { features: [first, 0, 0, 1] });
    const figure = async (pattern: RegExp): Promise<number> => {
      const text = await (await fetch(`${origin}/metrics`)).text();
      return Number(pattern.exec(text)?.[1] ?? assert.fail(`no ${pattern} in\n${text}`));
    };
    const runs = () => figure(/^tandem_handler_batch_calls_count\{[^}]*"score"[^}]*\} (\d+)$/m);

    await t.test('runs the model less often than it is called', async () => {
      const before = await runs();
      const firsts = Array.from({ length: 64 }, (_, n) => n);
      const scores = await Promise.all([some, ...firsts].map(score));
      assert.deepEqual(
        scores.slice(1),
        firsts.map((n) => n + 1),
      );
      const made = (await runs()) - before;
      assert.ok(made < 32, `${made} runs for 65 calls`);
    });

    await t.test('answers at the deadline of a run that nothing can stop', async () => {
      const ended: string[] = [];
      const heavy = score(endless).then(
        () => assert.fail('it ended'),
        (error: { code: number; data: unknown }) => {
          ended.push('heavy');
          assert.equal(error.code, -32001);
          assert.deepEqual(error.data, { timeoutMs: 2000 });
        },
      );
      for (let i = 0; i < 20; i++) assert.equal(await client.call('ping'), 'pong');
      ended.push('light');
      await heavy;
      assert.deepEqual(ended, ['light', 'heavy']);
    });

    await t.test('goes on in another worker, beside the thread that computes on', async () => {
      assert.equal(await score(1), 2);
      const zombies = () =>
        figure(/^tandem_workers\{state="zombie",group="model",process="1"\} (\d+)$/m);
      while ((await zombies()) === 0) assert.equal(await score(1), 2);
      assert.equal(await zombies(), 1);
    });
  });
});
