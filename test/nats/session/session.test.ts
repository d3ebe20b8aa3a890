import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { MemberSession } from '../../../src/extras/nats/session.ts';
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

/** The member's side of a session with so many replies that are not acknowledged. */
function withReplies(count: number): MemberSession {
  const session = new MemberSession(1, { epoch: 1, session: 0, have: 0, next: 1 });
  for (let i = 0; i < count; i++) session.keep([i], () => Buffer.alloc(1));
  return session;
}

describe('a gateway that does not acknowledge replies', () => {
  test('is asked to sync after 1 s in which the oldest of them stays the same, and again after as long', () => {
    const session = withReplies(1);
    const asked = [];
    for (let now = 0; now <= 4000; now += 50) if (session.isStuck(now)) asked.push(now);
    assert.deepEqual(asked, [1050, 2100, 3150]);
  });

  test('is not asked while it goes on, though there is always one that it has not acknowledged', () => {
    const session = withReplies(200);
    for (let now = 0; now <= 10_000; now += 50) {
      session.onAck({ session: 1, ack: Math.floor(now / 100) });
      assert.equal(session.isStuck(now), false);
    }
  });

  test('is not asked for what it has', () => {
    const session = withReplies(1);
    assert.equal(session.isStuck(0), false);
    session.onAck({ session: 1, ack: 1 });
    assert.equal(session.isStuck(900), false);
    assert.equal(session.isStuck(5000), false);
    session.keep([2], () => Buffer.alloc(1));
    assert.equal(session.isStuck(5000), false);
    assert.equal(session.isStuck(6000), false);
    assert.equal(session.isStuck(6001), true);
  });
});
