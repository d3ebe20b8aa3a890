import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { cases, seed } from '../../seed.ts';
import { type Event, World } from './world.ts';

const at = fc.nat({ max: 30 });
const to = fc.constantFrom('member' as const, 'gateway' as const);

function kinds<Type extends string>(...types: readonly Type[]): fc.Arbitrary<Type> {
  return fc.constantFrom(...types);
}

const usual: fc.WeightedArbitrary<Event>[] = [
  { weight: 6, arbitrary: fc.record({ type: kinds('submit', 'send', 'tick') }) },
  { weight: 4, arbitrary: fc.record({ type: kinds('finish'), at }) },
  { weight: 12, arbitrary: fc.record({ type: kinds('deliver'), to, at: fc.constant(0) }) },
];
const disturbed: fc.WeightedArbitrary<Event>[] = [
  {
    weight: 4,
    arbitrary: fc.record({ type: kinds('drop', 'repeat', 'deliver', 'refuse'), to, at }),
  },
  { weight: 1, arbitrary: fc.record({ type: kinds('outage') }) },
];
const forgetful: fc.WeightedArbitrary<Event>[] = [
  { weight: 1, arbitrary: fc.record({ type: kinds('forget', 'giveUp', 'shrink') }) },
];

function happens(events: readonly Event[]): World {
  const world = new World();
  for (const event of events) {
    world.happen(event);
    for (const { runs, answers } of world.calls) {
      assert.ok(runs <= 1, 'no call runs twice');
      assert.ok(answers.length <= 1, 'no call is answered twice');
    }
  }
  world.heal();
  return world;
}

const numRuns = cases(1500);

describe('a session over a network that loses, repeats and reorders', () => {
  test('each call runs once and is answered with its result, whatever happens to the messages', () => {
    const events = fc.array(fc.oneof(...usual, ...disturbed), { maxLength: 120, size: 'max' });
    fc.assert(
      fc.property(events, (given) => {
        for (const { runs, answers } of happens(given).calls) {
          assert.equal(runs, 1);
          assert.deepEqual(answers, ['result']);
        }
      }),
      { seed, numRuns },
    );
  });

  test('where one forgets the other or replies are given up, each call is answered once and runs at most once', () => {
    const events = fc.array(fc.oneof(...usual, ...disturbed, ...forgetful), {
      maxLength: 120,
      size: 'max',
    });
    fc.assert(
      fc.property(events, (given) => {
        for (const { runs, answers } of happens(given).calls) {
          assert.ok(runs <= 1);
          assert.equal(answers.length, 1);
          if (runs === 0) assert.deepEqual(answers, ['lost']);
        }
      }),
      { seed, numRuns },
    );
  });
});
