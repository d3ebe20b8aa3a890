import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { frameBudgetUs, isDue, passUs } from '../../src/core/dispatch/queue/cost.ts';
import { assign } from '../../src/core/workers/pool.ts';
import { seed } from '../seed.ts';

interface Group {
  readonly name: string;
  readonly isShort: boolean;
  readonly nextUs: number;
  readonly waiting: number;
}

interface Seat {
  readonly name: string;
  readonly loadUs: number;
  readonly freeSlots: number;
  readonly streamCount: number;
  readonly isHeldByLong: boolean;
  isCrowdedBy(group: Group): boolean;
}

const short = { name: 'short', isShort: true, nextUs: 200, waiting: 1 };
const long = { name: 'long', isShort: false, nextUs: 300_000, waiting: 1 };

function seat(name: string, facts: Partial<Seat> = {}): Seat {
  const isCrowdedBy = () => false;
  return {
    name,
    loadUs: 0,
    freeSlots: 9,
    streamCount: 0,
    isHeldByLong: false,
    isCrowdedBy,
    ...facts,
  };
}

const held = { loadUs: 300_000, isHeldByLong: true };
const full = { loadUs: frameBudgetUs };
const crowded = { isCrowdedBy: () => true };
const express = seat('express');

test('what goes where', () => {
  for (const [title, heads, workers, spare, wanted] of [
    ['nothing waits', {}, [seat('a')], express, undefined],
    ['a short one to a free worker', { short }, [seat('a')], express, 'short a'],
    ['a long one to a free worker', { long }, [seat('a')], express, 'long a'],
    ['the short one first', { short, long }, [seat('a')], express, 'short a'],
    ['a short one to the express', { short }, [seat('a', held)], express, 'short express'],
    ['where all are held', { short }, [seat('a', held), seat('b', held)], express, 'short express'],
    ['a worker first', { short }, [seat('a', held), seat('b')], express, 'short b'],
    ['not past a full worker', { short }, [seat('a', held), seat('b', full)], express, undefined],
    ['never a long one', { long }, [seat('a', held)], express, undefined],
    [
      'nor one that is due',
      { short, long, due: true },
      [seat('a', held)],
      express,
      'short express',
    ],
    ['no express', { short }, [seat('a', held)], undefined, undefined],
    ['the express is held', { short }, [seat('a', held)], seat('express', held), undefined],
    [
      'it is slow',
      { short },
      [seat('a', held)],
      seat('express', { isHeldByLong: true }),
      undefined,
    ],
    ['it is full', { short }, [seat('a', held)], seat('express', full), undefined],
    ['it retires', { short }, [seat('a', held)], seat('express', { freeSlots: 0 }), undefined],
    ['it is crowded', { short }, [seat('a', held)], seat('express', crowded), undefined],
    [
      'one that retires is no worker',
      { short },
      [seat('a', { freeSlots: 0 })],
      express,
      'short express',
    ],
    ['a crowded worker', { short }, [seat('a', crowded)], express, 'short crowded'],
    ['a long one that is due', { short, long, due: true }, [seat('a')], express, 'long a'],
    [
      'a due one keeps its worker',
      { short, long, due: true },
      [seat('a', { loadUs: 9 })],
      express,
      undefined,
    ],
    [
      'and no more than one',
      { short, long, due: true },
      [seat('a', { loadUs: 9 }), seat('b', { loadUs: 5 })],
      express,
      'short a',
    ],
    [
      'a short one that finds no room does not keep a long one',
      { short: { ...short, waiting: 99 }, long },
      [seat('a')],
      express,
      'long a',
    ],
  ] as const) {
    const { short: first, long: other, due = false } = heads as Partial<Record<string, never>>;
    const next = assign<Group, Seat>({ short: first, long: other, isLongDue: due }, workers, spare);
    const worker = next?.worker === 'crowded' ? 'crowded' : next?.worker.name;
    assert.equal(next && `${next.item.name} ${worker}`, wanted, title);
  }
});

test('when a long group is due', () => {
  for (const [longUs, passedUs, wanted] of [
    [1000, 3999, false],
    [1000, 4000, true],
    [300_000, 999_999, false],
    [300_000, 1_000_000, true],
  ] as const) {
    assert.equal(isDue(longUs, passedUs), wanted);
  }
});

const shortUs = 8000;

/** Workers by the clock of the model: each runs what it was given, one after another. */
class Model {
  now = 0;
  passedUs = 0;
  readonly shorts: Group[] = [];
  readonly longs: Group[] = [];
  readonly ran: string[] = [];
  readonly ended = { short: 0, long: 0 };
  readonly workers: { name: string; queue: { group: Group; leftUs: number }[] }[];
  #names = 0;

  constructor(count: number, hasExpress: boolean) {
    const names = Array.from({ length: count }, (_, n) => `${n}`);
    this.workers = [...names, ...(hasExpress ? ['express'] : [])].map((name) => ({
      name,
      queue: [],
    }));
  }

  arrive(expectedUs: number): void {
    const isShort = expectedUs <= shortUs;
    const name = `${isShort ? 's' : 'l'}${this.#names++}`;
    (isShort ? this.shorts : this.longs).push({ name, isShort, nextUs: expectedUs, waiting: 1 });
  }

  get #seats(): Seat[] {
    return this.workers.map(({ name, queue }) =>
      seat(name, {
        loadUs: queue.reduce((sum, { group }) => sum + group.nextUs, 0),
        isHeldByLong: queue.some(({ group }) => !group.isShort),
      }),
    );
  }

  send(): void {
    for (;;) {
      const seats = this.#seats;
      const express = seats.find(({ name }) => name === 'express');
      const regular = seats.filter((other) => other !== express);
      const [short] = this.shorts;
      const [long] = this.longs;
      if (long === undefined) this.passedUs = 0;
      const isLongDue = long !== undefined && isDue(long.nextUs, this.passedUs);
      const next = assign<Group, Seat>({ short, long, isLongDue }, regular, express);
      if (next === undefined) {
        this.#checkWaiting(regular, express, isLongDue);
        return;
      }
      const { item: group, worker } = next;
      assert.ok(worker !== 'crowded');
      assert.ok(group === short || group === long, 'the oldest of its line');
      assert.ok(group.isShort || worker !== express, 'no long one on the express');
      if (!group.isShort) this.passedUs = 0;
      else if (worker !== express) this.passedUs += passUs(group.nextUs, worker.loadUs === 0);
      (group.isShort ? this.shorts : this.longs).shift();
      this.workers
        .find(({ name }) => name === worker.name)
        ?.queue.push({
          group,
          leftUs: group.nextUs,
        });
    }
  }

  /** Nothing that waits could have gone. */
  #checkWaiting(regular: readonly Seat[], express: Seat | undefined, isLongDue: boolean): void {
    const fits = ({ loadUs }: Seat, us: number) => loadUs === 0 || loadUs + us <= frameBudgetUs;
    const [short] = this.shorts;
    const [long] = this.longs;
    if (long !== undefined) assert.ok(!regular.some((worker) => fits(worker, long.nextUs)));
    if (short === undefined) return;
    // One worker is kept for a long group that is due.
    const free = regular.filter((worker) => fits(worker, short.nextUs)).length;
    assert.ok(free <= (isLongDue ? 1 : 0));
    const mayUseExpress = regular.every(({ isHeldByLong }) => isHeldByLong);
    if (mayUseExpress && express !== undefined) assert.ok(!fits(express, short.nextUs));
  }

  /** Until the first worker has nothing to do. */
  runToIdle(): void {
    const left = this.workers.map(({ queue }) => queue.reduce((sum, one) => sum + one.leftUs, 0));
    this.run(Math.min(...left.filter((us) => us > 0)));
  }

  run(us: number): void {
    this.now += us;
    for (const { queue } of this.workers) {
      let left = us;
      while (left > 0 && queue[0] !== undefined) {
        const used = Math.min(left, queue[0].leftUs);
        queue[0].leftUs -= used;
        left -= used;
        if (queue[0].leftUs > 0) continue;
        const { name, isShort } = queue[0].group;
        queue.shift();
        this.ran.push(name);
        this.ended[isShort ? 'short' : 'long']++;
      }
    }
  }
}

const sizes = fc.oneof(
  fc.integer({ min: 1, max: 500 }),
  fc.integer({ min: 501, max: shortUs }),
  fc.integer({ min: shortUs + 1, max: 400_000 }),
);
const arrivals = fc.array(fc.record({ us: sizes, after: fc.integer({ min: 0, max: 20_000 }) }), {
  maxLength: 80,
});

test('with arrivals at random nothing waits that could go, and all of it runs', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 4 }),
      fc.boolean(),
      arrivals,
      (count, hasExpress, all) => {
        const model = new Model(count, hasExpress);
        for (const { us, after } of all) {
          model.arrive(us);
          model.send();
          model.run(after);
          model.send();
        }
        for (let n = 0; model.ran.length < all.length; n++) {
          assert.ok(n < 100_000, 'something waits for ever');
          model.run(1000);
          model.send();
        }
        assert.equal(new Set(model.ran).size, all.length);
      },
    ),
    { seed, numRuns: 500 },
  );
});

test('a long group has its turn however many short ones come, and the other way round', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 3 }),
      fc.boolean(),
      fc.integer({ min: 200, max: shortUs }),
      fc.integer({ min: shortUs + 1, max: 100_000 }),
      (count, hasExpress, short, long) => {
        const model = new Model(count, hasExpress);
        // More of both than can be served.
        const fill = (): void => {
          while (model.shorts.length < 50) model.arrive(short);
          while (model.longs.length < 5) model.arrive(long);
        };
        for (let n = 0; model.ended.long < 3; n++) {
          assert.ok(n < 20_000, 'a long one waits for ever');
          fill();
          model.send();
          model.runToIdle();
        }
        const longUs = model.ended.long * long;
        const shortsUs = model.ended.short * short;
        assert.ok(longUs > 0 && shortsUs > 0, `${longUs} ${shortsUs}`);
        // A fifth of what workers do; what the express does is short.
        assert.ok(longUs / (longUs + shortsUs) > 0.1, `${longUs} ${shortsUs}`);
      },
    ),
    { seed, numRuns: 30 },
  );
});
