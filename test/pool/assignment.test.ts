import assert from 'node:assert/strict';
import { test } from 'node:test';
import { frameBudgetUs, isDue } from '../../src/core/dispatch/queue/cost.ts';
import { assign } from '../../src/core/workers/pool.ts';

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
