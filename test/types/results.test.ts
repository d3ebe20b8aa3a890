/** The types of results without `returns` (results.test-d.ts) say what is sent. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createCaller, procedure, Router } from '../../src/index.ts';

class Point {
  x = 1;
  #y = 2;
  readonly label: string | (() => string) = 'p';
  move(): number {
    return this.#y;
  }
}

const empty: { list?: number[] } = {};
const caller = createCaller(
  Router.from({
    dates: procedure({}, () => ({ at: new Date(0), where: new URL('http://localhost/') })),
    pair: procedure({}, (): [Date, symbol, undefined] => [new Date(0), Symbol('x'), undefined]),
    point: procedure({}, () => new Point()),
    optional: procedure({}, async () => ({ a: 1, b: empty.list, c: () => 1 })),
    nothing: procedure({}, () => {}),
    ticks: procedure({}, function* () {
      yield new Date(0);
      return { at: new Date(1) };
    }),
  }),
);

it('a result without returns is what its type says', async () => {
  const dates: { at: string; where: string } = await caller.dates();
  assert.deepEqual(dates, { at: '1970-01-01T00:00:00.000Z', where: 'http://localhost/' });
  const pair: [string, null, null] = await caller.pair();
  assert.deepEqual(pair, ['1970-01-01T00:00:00.000Z', null, null]);
  const point: { x: number; label?: string } = await caller.point();
  assert.deepEqual(point, { x: 1, label: 'p' });
  const optional: { a: number; b?: number[] } = await caller.optional();
  assert.deepEqual(optional, { a: 1 });
  const nothing: null = await caller.nothing();
  assert.equal(nothing, null);
  const iterator = caller.ticks()[Symbol.asyncIterator]();
  const first: IteratorResult<string, { at: string }> = await iterator.next();
  assert.deepEqual(first, { done: false, value: '1970-01-01T00:00:00.000Z' });
  assert.deepEqual(await iterator.next(), {
    done: true,
    value: { at: '1970-01-01T00:00:00.001Z' },
  });
});
