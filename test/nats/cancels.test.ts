import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
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

describe('calls that nobody waits for any more', () => {
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
