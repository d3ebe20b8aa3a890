import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { cases, seed } from '../seed.ts';
import { deferred } from '../turns.ts';
import { Rig, saidBy } from './bus/rig.ts';

/** Text of a call: small, one of which some fill a frame, one that shares its frame with none, one that goes in parts. */
const text = fc.constantFrom(
  { weight: 6, length: 10 },
  { weight: 3, length: 40_000 },
  { weight: 1, length: 120_000 },
  { weight: 1, length: 300_000 },
);
const group = fc.record(
  {
    lengths: fc.array(
      text.map(({ length }) => length),
      { minLength: 1, maxLength: 8 },
    ),
    /** Turns of the event loop before it comes. */
    after: fc.nat({ max: 2 }),
  },
  { noNullPrototype: true },
);
/** Whether each message to a member leaves; those behind the last do. */
const leaves = fc.array(fc.boolean(), { maxLength: 12 });

describe('messages that do not leave', () => {
  test('every call runs once and is answered once, whichever messages to members do not leave', async (t) => {
    const rig = await Rig.open(t, { members: [['run'], ['run']] });
    let named = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(group, { minLength: 1, maxLength: 8 }),
        leaves,
        async (groups, given) => {
          const fates = [...given];
          rig.toMembers.mayPublish = () => fates.shift() ?? true;
          rig.runs.length = 0;
          const asked: string[] = [];
          const answers: Promise<unknown>[] = [];
          for (const { lengths, after } of groups) {
            for (let i = 0; i < after; i++) await rig.turn();
            const calls = lengths.map((length) => {
              const key = `k${named++}`;
              asked.push(key);
              return rig.call(key, { text: 'x'.repeat(length) });
            });
            const keys = asked.slice(-calls.length);
            const ended = rig.executeInOrder(calls);
            answers.push(ended.then((replies) => assert.deepEqual(replies.map(saidBy), keys)));
          }
          await rig.until(Promise.all(answers));
          assert.deepEqual([...rig.runs].sort(), asked.sort());
          assert.equal(rig.pool.inFlight, 0);
          assert.equal(rig.pool.queued, 0);
        },
      ),
      { seed, numRuns: cases(25) },
    );
  });

  test('a member that is lost while calls are shared out gets no more of them', async (t) => {
    const rig = await Rig.open(t);
    let left = 0;
    // Two frames leave: the third finds the way closed.
    rig.toMembers.mayPublish = () => ++left <= 2;
    const calls = Array.from({ length: 20 }, (_, i) =>
      rig.execute(rig.call(`k${i}`, { text: 'x'.repeat(60_000) })),
    );
    while (left < 3) await new Promise((resolve) => setImmediate(resolve));
    rig.toMembers.mayPublish = () => true;
    for (const [i, reply] of (await rig.until(Promise.all(calls))).entries()) {
      assert.equal(saidBy(reply), `k${i}`);
    }
    assert.equal(rig.runs.length, 20);
  });

  test('a call that is sent again and again has waited all the while: -32000 after maxQueueMs', async (t) => {
    const rig = await Rig.open(t, { pool: { maxQueueMs: 200 } });
    rig.toMembers.mayPublish = (subject) =>
      !subject.startsWith('s.m.') || rig.remotes[0]?.isTaking === false;
    const reply = await rig.until(rig.execute(rig.call('k')));
    assert.equal(saidBy(reply), -32000);
    assert.ok(rig.pool.counters.requeued > 0, 'it was sent once only');
    assert.deepEqual(rig.runs, []);
  });
});

describe('members of two versions', () => {
  test('a batch goes from the one to the other, in its order; single calls go beside it', async (t) => {
    const rig = await Rig.open(t, {
      members: [
        ['run', 'old'],
        ['run', 'new'],
      ],
    });
    const ranBy: string[] = [];
    rig.handle = async (key, member) => {
      ranBy.push(`${key} ${member}`);
      return key;
    };
    const names = ['old', 'new', 'old', 'old', 'run', 'new'];
    const calls = names.map((name, i) => rig.call(`k${i}`, { name }));
    const singles = ['new', 'old'].map((name) => rig.execute(rig.call(name, { name })));
    const replies = await rig.until(rig.executeInOrder(calls));
    assert.deepEqual(
      replies.map(saidBy),
      names.map((_, i) => `k${i}`),
    );
    const ofBatch = ranBy.filter((line) => line.startsWith('k'));
    assert.deepEqual(ofBatch, ['k0 0', 'k1 1', 'k2 0', 'k3 0', 'k4 0', 'k5 1']);
    assert.deepEqual((await rig.until(Promise.all(singles))).map(saidBy), ['new', 'old']);
  });

  test('a member that refused a call of a batch gets those that only it serves', async (t) => {
    const rig = await Rig.open(t, { members: [['old'], ['run']] });
    const [one, other] = rig.remotes;
    assert.ok(one?.procedures !== undefined && other?.procedures !== undefined);
    // It has been replaced by a version without the procedure, and has not told so yet.
    one.procedures = new Map([...one.procedures, ...other.procedures]);
    const calls = ['run', 'old', 'run'].map((name, i) => rig.call(`k${i}`, { name }));
    const replies = await rig.until(rig.executeInOrder(calls));
    assert.deepEqual(replies.map(saidBy), ['k0', 'k1', 'k2']);
    assert.deepEqual(rig.runs, ['k0', 'k1', 'k2']);
  });
});

describe('a member that ends before its calls have', () => {
  test('gives back what has not begun: another member runs it', async (t) => {
    const rig = await Rig.open(t, { members: [['run'], ['run']] });
    const beginning = deferred<void>();
    const ranBy: string[] = [];
    rig.handle = async (key, member, signal) => {
      ranBy.push(`${key} ${member}`);
      if (key === 'first') {
        beginning.resolve();
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
      }
      return key;
    };
    const calls = ['first', 'second'].map((key) => rig.call(key));
    const ended = rig.executeInOrder(calls);
    await rig.until(beginning.promise);
    const [remote] = rig.remotes;
    assert.ok(remote !== undefined);
    remote.heartbeat = { ...remote.heartbeat, state: 'draining' };
    rig.members[0]?.close();
    assert.deepEqual((await rig.until(ended)).map(saidBy), ['first', 'second']);
    assert.deepEqual(ranBy, ['first 0', 'second 1']);
  });
});
