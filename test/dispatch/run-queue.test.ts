import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Runnable, RunQueue } from '../../src/core/dispatch/streams/stream-run.ts';

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** Goes on for as long as `mayGoOn`: at once, or after a wait for nothing. */
function generator(queue: RunQueue, isAsync: boolean, mayGoOn: (values: number) => boolean) {
  const run: Runnable & { values: number } = {
    ticket: 1,
    values: 0,
    resume() {
      const goOn = () => {
        run.values++;
        if (mayGoOn(run.values)) queue.add(run);
      };
      if (isAsync) void Promise.resolve().then(goOn);
      else goOn();
    },
  };
  return run;
}

describe('the run queue of a thread', () => {
  test('a generator that waits for nothing has more than one value of a turn of the event loop', async () => {
    const queue = new RunQueue();
    const many = 5000;
    const run = generator(queue, true, (values) => values < many);
    queue.add(run);
    let turns = 0;
    for (; run.values < many; turns++) await nextTurn();
    // Each slice that the machine leaves alone has hundreds.
    assert.ok(turns < many / 2, `${turns} turns`);
  });

  test('whatever else waits has its turn beside generators that never end', async () => {
    const queue = new RunQueue();
    let isOver = false;
    for (const isAsync of [true, false, true]) queue.add(generator(queue, isAsync, () => !isOver));
    for (let i = 0; i < 20; i++) await nextTurn();
    await new Promise((resolve) => setTimeout(resolve, 1));
    isOver = true;
  });

  test('all that a turn of the event loop gave is told of at its end, and nothing is left untold', async () => {
    let given = 0;
    let told = 0;
    let times = 0;
    const queue = new RunQueue(undefined, () => {
      told = given;
      times++;
    });
    const many = 5000;
    const runs = [true, false].map((isAsync) =>
      generator(queue, isAsync, (values) => {
        given++;
        return values < many;
      }),
    );
    for (const run of runs) queue.add(run);
    while (runs.some(({ values }) => values < many)) await nextTurn();
    // The last rest is told of in the turn behind it.
    while (told < given) await nextTurn();
    assert.equal(told, 2 * many);
    assert.ok(times < many, `told ${times} times`);
  });

  test('each time that a generator holds the thread is watched, from its begin to its end', async () => {
    let inside = 0;
    let entered = 0;
    const watch = {
      enter: () => {
        assert.equal(inside++, 0);
        entered++;
      },
      leave: () => {
        inside--;
      },
    };
    const queue = new RunQueue(watch);
    const run = generator(queue, true, (values) => values < 100);
    queue.add(run);
    while (run.values < 100) await nextTurn();
    assert.deepEqual([inside, entered], [0, 100]);
    assert.equal(
      queue.guarded(run, () => inside),
      1,
    );
    assert.equal(inside, 0);
  });
});
