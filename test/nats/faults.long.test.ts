import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { startCli } from '../cli/process.ts';
import { call, until, untilReady } from './apps.ts';
import { FaultWorld } from './fault-world.ts';
import { describeNats } from './server.ts';

const isResult = ({ code }: { readonly code: number }): boolean => code === 0;

/** Each row of the fault table: what callers see, and that nothing runs twice. */
describeNats('faults of a cluster', () => {
  for (const downMs of [300, 2000]) {
    test(`nats-server is killed and back after ${downMs} ms: every call has its result`, async (t) => {
      const { world } = await FaultWorld.open(t, 2);
      world.start();
      await world.more(50);
      await world.server.kill();
      await pause(downMs);
      await world.server.restart();
      await world.more(100);
      await world.stop();
      world.check();
    });
  }

  test('nats-server is down for longer than calls may wait: those are refused, and none is lost or runs twice', async (t) => {
    const { world } = await FaultWorld.open(t, 2, { maxQueueMs: 500 });
    world.start();
    await world.more(50);
    await world.server.kill();
    await untilReady(world.front.url, 'disconnected');
    await world.more(20, ({ code }) => code === -32000);
    await world.server.restart();
    await world.more(100, isResult);
    await world.stop();
    world.check(-32000);
  });

  test('nats-server stands still: calls wait, and have their results when it goes on', async (t) => {
    const { world } = await FaultWorld.open(t, 2);
    world.start();
    await world.more(50);
    await world.server.pause();
    await untilReady(world.front.url, 'disconnected');
    await pause(2000);
    world.server.resume();
    await world.more(100);
    await world.stop();
    world.check();
  });

  test('a member is killed: what it had is -32002, the others go on, and nothing runs twice', async (t) => {
    const { world, members } = await FaultWorld.open(t, 2);
    world.start();
    await world.more(50);
    process.kill(members[0]?.pid ?? 0, 'SIGKILL');
    await until(() => world.with(-32002).length > 0);
    await world.more(100, isResult);
    await world.stop();
    world.check(-32002);
    const lost = world.with(-32002);
    assert.ok(lost.length <= 16, `${lost.length} lost`);
    assert.ok(lost.every(({ reason }) => reason === 'member'));
    assert.equal(world.members, 1);
    assert.equal(world.front.app.dispatcher.stats().remote?.lost, lost.length);
  });

  test('a member stands still for a moment: every call has its result', async (t) => {
    const { world, members } = await FaultWorld.open(t, 2);
    world.start();
    await world.more(50);
    process.kill(members[0]?.pid ?? 0, 'SIGSTOP');
    await pause(1000);
    process.kill(members[0]?.pid ?? 0, 'SIGCONT');
    await world.more(100);
    await world.stop();
    world.check();
  });

  test('a member stands still for too long: what it had is -32002, and it comes back', async (t) => {
    const { world, members } = await FaultWorld.open(t, 2, {
      memberSilentMs: 1000,
      memberHungMs: 2000,
    });
    world.start();
    await world.more(50);
    const pid = members[0]?.pid ?? 0;
    process.kill(pid, 'SIGSTOP');
    await until(() => world.with(-32002).length > 0);
    assert.equal(world.members, 1);
    await world.more(50, isResult);
    process.kill(pid, 'SIGCONT');
    await world.more(20, ({ by }) => by === pid);
    await world.stop();
    world.check(-32002);
    assert.ok(world.with(-32002).every(({ reason }) => reason === 'member'));
  });

  test('a rolling deploy of processes: every call has its result', async (t) => {
    const { world, members } = await FaultWorld.open(t, 2);
    world.start();
    await world.more(50);
    for (const { running } of members) {
      const next = await world.startMember();
      await world.more(10, ({ by }) => by === next.pid);
      world.expectOneLess();
      running.child.kill('SIGTERM');
      const { code } = await running.exit;
      assert.equal(code, 0);
    }
    await world.more(50);
    await world.stop();
    world.check();
  });

  test('a gateway is killed: its members end what it waited for', async (t) => {
    const { world } = await FaultWorld.open(t, 1);
    const args = ['gateway', '--nats', world.server.url, '--port', '0', '--no-supervisor'];
    const other = startCli(args);
    t.after(async () => {
      other.child.kill('SIGKILL');
      await other.exit;
    });
    const [, url = ''] = await other.seen('stdout', /(http:\S+\/rpc)/);
    await untilReady(url);
    const waiting = call(url, 'wait', { key: 'left', ms: 0 }).catch(() => undefined);
    await until(() => world.journal().includes('ran left'));
    other.child.kill('SIGKILL');
    assert.equal(await waiting, undefined);
    await until(() => world.journal().includes('aborted left'));
    world.start();
    await world.more(20);
    await world.stop();
    world.check();
  });
});
