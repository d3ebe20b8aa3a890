import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RequestScope } from '../../src/dispatch/scope.ts';
import { syncedText } from '../../src/nats/wire/to-gateway.ts';
import { readToMember } from '../../src/nats/wire/to-member.ts';
import { Rig, saidBy } from './bus/rig.ts';

/** A gateway that has some parts of a large reply, of which the rest is lost. */
async function halfway(rig: Rig) {
  rig.handle = async (key) => key.repeat(1_000_000);
  let parts = 0;
  rig.bus.mayDeliver = (subject) => !subject.startsWith('s.g.') || ++parts <= 3;
  const scope = new RequestScope({});
  const ended = rig.execute(rig.call('k', { scope }));
  const parted = rig.remotes[0]?.channel.parts ?? assert.fail('there is no member');
  while (parted.size === 0) await rig.turn();
  return { scope, ended, parted };
}

describe('parts of a large reply that does not come whole', () => {
  test('are kept over an outage, and the reply comes', async (t) => {
    const rig = await Rig.open(t);
    const { ended, parted } = await halfway(rig);
    rig.bus.mayDeliver = () => true;
    rig.toMembers.become('disconnected');
    rig.toMembers.become('reconnected');
    assert.equal(saidBy(await rig.until(ended)), 'k'.repeat(1_000_000));
    assert.equal(parted.size, 0);
  });

  test('are dropped when nobody waits for it any more', async (t) => {
    const rig = await Rig.open(t);
    const { scope, parted } = await halfway(rig);
    scope.cancel();
    assert.equal(parted.size, 0);
  });

  test('are dropped when its call is lost', async (t) => {
    const rig = await Rig.open(t);
    const { ended, parted } = await halfway(rig);
    rig.remotes[0]?.lose('member');
    assert.equal(saidBy(await rig.until(ended)), -32002);
    assert.equal(parted.size, 0);
  });

  test('are dropped when the member has forgotten it', async (t) => {
    const rig = await Rig.open(t);
    const { ended, parted } = await halfway(rig);
    const member = rig.bus.connect();
    rig.bus.mayDeliver = (subject, data) => {
      if (!subject.startsWith('s.m.')) return true;
      const message = readToMember(data);
      if (message.kind === 'sync') {
        const { epoch, next } = message.request;
        member.publish('s.g.gw.m0', syncedText({ epoch, session: 9, got: 0, from: next }));
      }
      return false;
    };
    rig.toMembers.become('disconnected');
    rig.toMembers.become('reconnected');
    assert.equal(saidBy(await rig.until(ended)), -32002);
    assert.equal(parted.size, 0);
  });
});
