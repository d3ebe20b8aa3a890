import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Rig, saidBy } from './bus/rig.ts';

describe('a member that ends before its calls have', () => {
  test('gives back what has not begun: another member runs it', async (t) => {
    const rig = await Rig.open(t, { members: [['run'], ['run']] });
    let begun = (): void => {};
    const beginning = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const ranBy: string[] = [];
    rig.handle = async (key, member, signal) => {
      ranBy.push(`${key} ${member}`);
      if (key === 'first') {
        begun();
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
      }
      return key;
    };
    const calls = ['first', 'second'].map((key) => rig.call(key));
    const ended = rig.pool.executeInOrder(calls);
    await rig.until(beginning);
    const [remote] = rig.remotes;
    assert.ok(remote !== undefined);
    remote.heartbeat = { ...remote.heartbeat, state: 'draining' };
    rig.members[0]?.close();
    assert.deepEqual((await rig.until(ended)).map(saidBy), ['first', 'second']);
    assert.deepEqual(ranBy, ['first 0', 'second 1']);
  });
});
