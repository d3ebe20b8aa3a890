import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { clockMs } from '../../src/base/clock.ts';
import { RequestScope } from '../../src/dispatch/scope.ts';
import { Rig, saidBy } from './bus/rig.ts';

/** A call that runs until it is aborted. */
async function running(rig: Rig) {
  let begun = (): void => {};
  const beginning = new Promise<void>((resolve) => {
    begun = resolve;
  });
  let aborted = (): void => {};
  const aborting = new Promise<void>((resolve) => {
    aborted = resolve;
  });
  rig.handle = (key, _, signal) => {
    begun();
    return new Promise((resolve) => {
      signal.addEventListener('abort', () => {
        aborted();
        resolve(key);
      });
    });
  };
  const scope = new RequestScope({});
  const ended = rig.execute(rig.call('k', { scope }));
  await rig.until(beginning);
  return { scope, ended, aborting };
}

/** A call with a body of many parts, of which the first ones have come. */
async function halfSent(rig: Rig) {
  let parts = 0;
  rig.bus.mayDeliver = (_, data) => {
    if (Buffer.from(data).includes('"p":[')) parts++;
    return true;
  };
  const scope = new RequestScope({ timeoutMs: 600_000 });
  const ended = rig.execute(rig.call('k', { scope, text: 'x'.repeat(3_000_000) }));
  while (parts === 0) await rig.turn();
  return { scope, ended, parts: () => parts };
}

/** Nothing more of a body comes, nothing of it stays at the member, and it does not run. */
async function assertDropped(rig: Rig, parts: () => number): Promise<void> {
  const before = parts();
  for (let i = 0; i < 50; i++) await rig.turn();
  assert.equal(parts(), before);
  assert.equal(rig.members[0]?.options.service.bodyMemory.stats().inUse, 0);
  assert.deepEqual(rig.runs, []);
  rig.handle = async (key) => key;
  assert.equal(saidBy(await rig.until(rig.execute(rig.call('next')))), 'next');
}

describe('calls that nobody waits for any more', () => {
  test('send no more of their bodies, and do not run', async (t) => {
    const rig = await Rig.open(t);
    const { scope, ended, parts } = await halfSent(rig);
    scope.cancel();
    assert.equal(saidBy(await rig.until(ended)), -32003);
    await assertDropped(rig, parts);
  });

  test('send no more of their bodies when they are late: the memory of these is of others by then', async (t) => {
    const rig = await Rig.open(t);
    const { ended, parts } = await halfSent(rig);
    rig.remotes[0]?.expire(clockMs() + 1_000_000);
    assert.equal(saidBy(await rig.until(ended)), -32001);
    await assertDropped(rig, parts);
  });

  test('end at their member, though the server was away when their caller left', async (t) => {
    const rig = await Rig.open(t);
    const { scope, ended, aborting } = await running(rig);
    rig.toMembers.become('disconnected');
    scope.cancel();
    rig.toMembers.become('reconnected');
    await rig.until(aborting);
    await rig.until(ended);
    assert.equal(rig.members[0]?.inFlight, 0);
  });

  test('end at their member, though the message that said so was lost', async (t) => {
    const rig = await Rig.open(t);
    const { scope, ended, aborting } = await running(rig);
    let told = 0;
    let isLost = true;
    rig.bus.mayDeliver = (_, data) => {
      if (!Buffer.from(data).includes('"x":')) return true;
      told++;
      const comes = !isLost;
      isLost = false;
      return comes;
    };
    scope.cancel();
    while (told === 0) await rig.turn();
    rig.toMembers.become('disconnected');
    rig.toMembers.become('reconnected');
    await rig.until(aborting);
    await rig.until(ended);
    // It is told no more when their ends have come.
    while (rig.remotes[0]?.inFlight !== 0 || rig.members[0]?.inFlight !== 0) await rig.turn();
    await rig.turn();
    told = 0;
    rig.handle = async (key) => key;
    rig.toMembers.become('disconnected');
    rig.toMembers.become('reconnected');
    assert.equal(saidBy(await rig.until(rig.execute(rig.call('next')))), 'next');
    assert.equal(told, 0);
  });
});
