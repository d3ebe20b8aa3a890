import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { until } from '../turns.ts';
import { call, untilReady } from './apps.ts';
import type { Ended } from './callers.ts';
import { FaultWorld } from './fault-world.ts';
import { untilHalted } from './nats-server.ts';
import { describeNats } from './server.ts';

const isResult = ({ code }: Ended): boolean => code === 0;

/** For gateways that are to give no member up: a busy machine keeps one away for longer than they usually wait. */
const patient = { hungMs: 600_000, goneMs: 600_000 } as const;

/** Each row of the fault table: what callers see, and that nothing runs twice. */
describeNats('faults of a cluster', () => {
  for (const downMs of [300, 2000]) {
    test(`nats-server is killed and back after ${downMs} ms: every call has its result`, async (t) => {
      const { world } = await FaultWorld.open(t, 2, patient);
      await world.load();
      await world.server.kill();
      await untilReady(world.front.url, 'disconnected');
      await pause(downMs);
      await world.server.restart();
      await world.callers.more(100);
      await world.end();
      await untilReady(world.front.url);
    });
  }

  test('nats-server is down for longer than calls may wait: those are refused, and none is lost or runs twice', async (t) => {
    const { world } = await FaultWorld.open(t, 2, patient, { maxQueueMs: 500 });
    await world.load();
    await world.server.kill();
    await untilReady(world.front.url, 'disconnected');
    // Those of before may all be with members.
    world.callers.start();
    await world.callers.more(20, ({ code }) => code === -32000);
    await world.server.restart();
    await world.callers.more(100, isResult);
    await world.end('-32000');
  });

  test('nats-server stands still: calls wait, and have their results when it goes on', async (t) => {
    const { world } = await FaultWorld.open(t, 2, patient);
    await world.load();
    await world.server.pause();
    await untilReady(world.front.url, 'disconnected');
    await pause(2000);
    world.server.resume();
    await world.callers.more(100);
    await world.end();
  });

  test('a member is killed: what it had is -32002, the others go on, and nothing runs twice', async (t) => {
    const { world, members } = await FaultWorld.open(t, 2);
    await world.load();
    // A member that stands still answers nothing, so it has calls when it dies.
    const pid = members[0]?.pid ?? 0;
    process.kill(pid, 'SIGSTOP');
    await untilHalted(pid);
    await world.callers.more(50, isResult);
    process.kill(pid, 'SIGKILL');
    await until(() => world.callers.with(-32002).length > 0);
    await world.callers.more(100, isResult);
    await world.end('-32002 member');
    const lost = world.callers.with(-32002);
    assert.ok(lost.length <= 16, `${lost.length} lost`);
    assert.equal(world.members, 1);
    assert.equal(world.front.app.dispatcher.stats().remote?.lost, lost.length);
  });

  test('a member stands still for a moment: every call has its result', async (t) => {
    const { world, members } = await FaultWorld.open(t, 2, patient);
    await world.load();
    process.kill(members[0]?.pid ?? 0, 'SIGSTOP');
    await pause(1000);
    process.kill(members[0]?.pid ?? 0, 'SIGCONT');
    await world.callers.more(100);
    await world.end();
  });

  test('a member stands still for too long: what it had is -32002, and it comes back', async (t) => {
    const { world, members } = await FaultWorld.open(t, 2, {
      silentMs: 1000,
      hungMs: 2000,
    });
    await world.load();
    const pid = members[0]?.pid ?? 0;
    process.kill(pid, 'SIGSTOP');
    await until(() => world.callers.with(-32002).length > 0);
    // On a busy machine the other one may be silent for a moment, too.
    await until(() => world.members === 1);
    await world.callers.more(50, isResult);
    process.kill(pid, 'SIGCONT');
    await world.callers.more(20, ({ by }) => by === pid);
    await world.end('-32002 member');
  });

  test('a member that stands still holds a bounded number of bytes: what is beyond waits, and goes to others', async (t) => {
    const { world, members } = await FaultWorld.open(
      t,
      1,
      { ...patient, silentMs: 600_000, bytes: 600_000 },
      { timeoutMs: 600_000, maxRequestMs: 600_000 },
    );
    const pid = members[0]?.pid ?? 0;
    const remote = () => world.front.app.dispatcher.stats().remote;
    const send = (key: string, bytes: number) =>
      call(world.front.url, 'run', { key, ms: 0, pad: 'x'.repeat(bytes) });
    const answered = async (calls: readonly ReturnType<typeof call>[]): Promise<string[]> =>
      (await Promise.all(calls)).map(({ result }) => (result as { key: string }).key);
    process.kill(pid, 'SIGSTOP');
    await untilHalted(pid);
    // One that is larger than allowed goes, and nothing goes beside it.
    const large = send('large', 2_000_000);
    await until(() => remote()?.inFlight === 1);
    const beside = Array.from({ length: 20 }, (_, i) => send(`beside${i}`, i < 10 ? 200_000 : 10));
    await until(() => remote()?.queued === 20);
    assert.equal(remote()?.inFlight, 1);
    await world.startMember();
    const names = Array.from({ length: 20 }, (_, i) => `beside${i}`);
    assert.deepEqual(await answered(beside), names);
    process.kill(pid, 'SIGCONT');
    assert.deepEqual(await answered([large]), ['large']);
    const ran = world.journal().toSorted();
    assert.deepEqual(ran, [...names, 'large'].map((name) => `ran ${name}`).sort());
  });

  test('a rolling deploy of processes: every call has its result', async (t) => {
    const { world, members } = await FaultWorld.open(t, 2, patient);
    await world.load();
    for (const { running } of members) {
      const next = await world.startMember();
      await world.callers.more(10, ({ by }) => by === next.pid);
      world.expectOneLess();
      running.child.kill('SIGTERM');
      const { code } = await running.exit;
      assert.equal(code, 0);
    }
    await world.callers.more(50);
    await world.end();
  });

  test('a gateway is killed: its members end what it waited for, and callers of another notice nothing', async (t) => {
    const { world } = await FaultWorld.open(t, 1, patient);
    const { running: other, url } = await world.startGateway();
    await untilReady(url);
    // Callers of another gateway notice nothing.
    world.callers.start();
    const waiting = call(url, 'wait', { key: 'left', ms: 0 }).catch(() => undefined);
    await until(() => world.journal().includes('ran left'));
    other.child.kill('SIGKILL');
    assert.equal(await waiting, undefined);
    await until(() => world.journal().includes('aborted left'));
    await world.callers.more(20);
    await world.end();
  });
});
