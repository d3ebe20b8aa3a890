import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type Account, type Holder, Share, smallHolding } from '../../src/core/dispatch/share.ts';
import { cases, seed } from '../seed.ts';

interface Taken extends Holder<string> {
  slot: number | undefined;
  account: Account | undefined;
}

const weights: Readonly<Record<string, number>> = { heavy: 3, light: 0.1 };
const callers = {
  keyOf: (key: string) => key,
  weightOf: (key: string) => weights[key] ?? 1,
};

function taking(share: Share<string>, key: string, amount = 1): Taken | undefined {
  if (share.denial(key) !== undefined || share.used + amount > share.limit) return undefined;
  const holder = { scope: key, amount, slot: undefined, account: undefined };
  share.take(holder);
  return holder;
}

/** Takes as long as there is something to take. */
function takeAll(share: Share<string>, ...keys: readonly string[]): Taken[] {
  const taken: Taken[] = [];
  for (let before = -1; before < taken.length; ) {
    before = taken.length;
    for (const key of keys) {
      const one = taking(share, key);
      if (one !== undefined) taken.push(one);
    }
  }
  return taken;
}

const heldBy = (taken: readonly Taken[], key: string) =>
  taken.filter(({ scope }) => scope === key).length;

describe('the share of a caller in a limit', () => {
  test('a caller alone gets nine tenths; of a limit below ten all', () => {
    for (const limit of [1, 2, 3, 5, 9]) {
      assert.equal(takeAll(new Share(limit, callers), 'a').length, limit);
    }
    for (const limit of [10, 70, 100, 20_000]) {
      const share = new Share(limit, callers);
      assert.equal(takeAll(share, 'a').length, (limit * 9) / 10);
      assert.equal(share.denial('a'), 'share');
    }
  });

  test('two callers get one half of nine tenths each, three with weights their parts', () => {
    const two = takeAll(new Share(1000, callers), 'a', 'b');
    assert.deepEqual([heldBy(two, 'a'), heldBy(two, 'b')], [450, 450]);
    const three = takeAll(new Share(1000, callers), 'heavy', 'a', 'b');
    assert.deepEqual(
      ['heavy', 'a', 'b'].map((key) => heldBy(three, key)),
      [540, 180, 180],
    );
  });

  test('a caller with more than its part gets no more, others get what becomes free', () => {
    const share = new Share(1000, callers);
    const taken = takeAll(share, 'a');
    taken.push(...takeAll(share, 'b'));
    assert.equal(heldBy(taken, 'b'), 10);
    for (const one of taken.slice(0, 600)) share.give(one);
    assert.equal(share.denial('a'), undefined, 'below half everybody takes what they ask for');
    const more = takeAll(share, 'b', 'a');
    assert.equal(heldBy(more, 'b') + 10, 450);
    assert.equal(heldBy(more, 'a') + 300, 450);
  });

  test('ten callers with less than a hundredth each share the last tenth', () => {
    const share = new Share(1000, callers);
    takeAll(share, 'a');
    const names = Array.from({ length: 10 }, (_, i) => `small${i}`);
    const taken = takeAll(share, ...names);
    assert.deepEqual(
      names.map((name) => heldBy(taken, name)),
      names.map(() => 10),
    );
    assert.equal(share.denial('late'), 'full');
  });

  test('all networks of one /48 together get the parts of eight callers', () => {
    const share = new Share(10_000, callers);
    const networks = Array.from({ length: 50 }, (_, i) => `a2001:db8:1:${i.toString(16)}`);
    const taken = takeAll(share, ...networks, 'a192.0.2.1');
    const together = taken.filter(({ scope }) => scope !== 'a192.0.2.1').length;
    assert.ok(together <= 8000 + 100, `the /48 has ${together}`);
    assert.ok(heldBy(taken, 'a192.0.2.1') >= 900);
    const alone = new Share(10_000, callers);
    assert.equal(takeAll(alone, 'a2001:db8:1:1').length, 9000);
    const small = Array.from({ length: 500 }, (_, i) => `a2001:db8:2:${i.toString(16)}`);
    assert.equal(takeAll(new Share(10_000, callers), ...small).length, 9000);
  });

  test('generated: never above the limit, nobody small is denied, sums hold, accounts are bounded', () => {
    const step = fc.record({
      key: fc.constantFrom('a', 'b', 'c', 'heavy', 'light', 'a1:2:3:4', 'a1:2:3:5'),
      what: fc.constantFrom('take', 'take', 'take', 'give'),
      times: fc.integer({ min: 1, max: 60 }),
      at: fc.nat(),
    });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 300 }),
        fc.array(step, { maxLength: 60 }),
        (limit, steps) => {
          const share = new Share(limit, callers);
          const held: Taken[] = [];
          const small = smallHolding(limit);
          for (const { key, what, times, at } of steps) {
            for (let i = 0; i < times; i++) {
              if (what === 'give') {
                const [one] = held.splice(at % Math.max(1, held.length), 1);
                if (one !== undefined) share.give(one);
                if (one !== undefined) share.give(one);
                continue;
              }
              const mine = heldBy(held, key);
              const denial = share.denial(key);
              if (held.length < limit / 2) assert.equal(denial, undefined);
              if (mine < small && denial !== undefined && !key.includes(':')) {
                assert.equal(held.length, limit);
              }
              if (held.length === mine && denial !== undefined) {
                assert.ok(mine >= limit - Math.floor(limit / 10));
              }
              const one = taking(share, key);
              if (one !== undefined) held.push(one);
            }
            assert.equal(share.used, held.length);
            assert.ok(share.used <= limit && share.accounts <= 2 * held.length);
          }
          for (const one of held) share.give(one);
          assert.deepEqual([share.used, share.accounts], [0, 0]);
        },
      ),
      { seed, numRuns: cases(300) },
    );
  });
});
