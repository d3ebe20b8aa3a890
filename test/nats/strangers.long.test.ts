import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createLog } from '../../src/core/observe/log.ts';
import { Candidates, type Heartbeat, parseHeartbeat } from '../../src/extras/nats/liveness.ts';
import { acknowledgementText, syncedText, syncText } from '../../src/extras/nats/wire.ts';
import { saidBy } from './bus/rig.ts';
import { World } from './bus/world.ts';
import { longMs } from './parts.ts';

/** As many as a gateway takes. */
const mostMembers = 1000;

function beat(id: string, more: Partial<Heartbeat> = {}): string {
  return JSON.stringify({
    id,
    state: 'ready',
    contract: 'made0up',
    version: '9.9.9',
    started: 0,
    load: 0,
    gateways: 0,
    calls: 0,
    returns: 0,
    ...more,
  } satisfies Heartbeat);
}

/** Counts the messages to subjects that begin so. */
function counted(world: World, prefix: string): () => number {
  let count = 0;
  world.bus.mayDeliver = (subject) => {
    if (subject.startsWith(prefix)) count++;
    return true;
  };
  return () => count;
}

/** A log, and the members of its lines about an event. */
function recordedLog() {
  const lines: { readonly event: string; readonly member: string }[] = [];
  const write = (line: string): void => void lines.push(JSON.parse(line));
  const log = createLog({ level: 'info', pretty: false, write });
  const membersOf = (name: string) =>
    lines.filter(({ event }) => event === name).map(({ member }) => member);
  return { log, membersOf };
}

describe('candidates', () => {
  test('are 1000 at most, each for 250 ms at least, and for 30 s at most', () => {
    const candidates = new Candidates<string>();
    const offer = (id: string, now: number): boolean => {
      const hasRoom = candidates.makeRoom(now);
      if (hasRoom) candidates.add(id, id, now);
      return hasRoom;
    };
    for (let i = 0; i < 1000; i++) assert.ok(offer(`x${i}`, 0));
    assert.equal(offer('late', 249), false);
    assert.equal(offer('later', 250), true);
    assert.equal(candidates.get('x0'), undefined);
    assert.equal(candidates.get('x1'), 'x1');
    candidates.expire(29_999);
    assert.equal(candidates.get('x1'), 'x1');
    candidates.expire(30_000);
    assert.equal(candidates.get('x999'), undefined);
    assert.equal(candidates.get('later'), 'later');
  });
});

describe('heartbeats of made-up members', () => {
  test('20,000 of them add no member and fetch no contract, and calls are answered', async (t) => {
    const { log, membersOf } = recordedLog();
    const world = new World(t, longMs, log);
    await world.join('m1', ['one']);
    const stranger = world.bus.connect();
    const asked = counted(world, 's.m.x');
    let fetched = false;
    world.bus.listen('s.doc.made0up', () => {
      fetched = true;
    });
    for (let i = 0; i < 20_000; i++) stranger.publish('s.hb', beat(`x${i}`));
    await stranger.flush();
    const said = await Promise.all(Array.from({ length: 100 }, () => world.call('one')));
    assert.deepEqual([...new Set(said.map(saidBy))], ['m1']);
    assert.ok(asked() > 0);
    assert.equal(fetched, false);
    assert.deepEqual(membersOf('member-joined'), ['m1']);
    assert.deepEqual(
      world.gateway.figures().map(({ id }) => id),
      ['m1'],
    );
  });

  test('a member joins beside strangers at whose subjects somebody listens and does not answer', async (t) => {
    const world = new World(t, longMs);
    world.bus.listen('s.m.>', () => {});
    const stranger = world.bus.connect();
    for (let i = 0; i < 500; i++) stranger.publish('s.hb', beat(`x${i}`));
    await stranger.flush();
    await world.join('m1', ['one']);
    assert.equal(saidBy(await world.call('one')), 'm1');
    assert.equal(world.gateway.figures().length, 1);
  });

  test('1000 members that answer are taken, and no more', async (t) => {
    const { log, membersOf } = recordedLog();
    const world = new World(t, longMs, log);
    await world.join('m1', ['one']);
    const stranger = world.bus.connect();
    world.bus.listen('s.m.>', ({ reply = '' }) => {
      const [, , gateway, id] = reply.split('.');
      if (id === 'm1') return;
      const answer = syncedText({ epoch: 1, session: 1, got: 0, from: 1 });
      stranger.publish(`s.g.${gateway}.${id}`, answer);
    });
    for (let group = 0; group < 15; group++) {
      for (let i = 0; i < 100; i++) stranger.publish('s.hb', beat(`x${group}a${i}`));
      for (let turn = 0; turn < 4; turn++) await stranger.flush();
    }
    assert.equal(world.gateway.figures().length, mostMembers);
    assert.ok(membersOf('member-refused').length > 0);
    assert.equal(saidBy(await world.call('one')), 'm1');
  });
});

describe('a member that tells something else with each heartbeat', () => {
  test('20,000 contracts are not all asked for, and take no procedure from the member', async (t) => {
    const world = new World(t, longMs);
    await world.join('m1', ['one']);
    await world.join('m2', ['two']);
    const asked = counted(world, 's.doc.made');
    const stranger = world.bus.connect();
    for (let i = 0; i < 20_000; i++) {
      stranger.publish('s.hb', beat('m2', { contract: `made${i}` }));
    }
    for (let turn = 0; turn < 4; turn++) await stranger.flush();
    assert.ok(asked() > 0 && asked() < 100, `${asked()} were asked for`);
    assert.equal(saidBy(await world.call('one')), 'm1');
    assert.equal(saidBy(await world.call('two')), 'm2');
  });
});

describe('made-up gateways', () => {
  test('20,000 that sync are no gateways, 4000 hellos bring few heartbeats, and calls are answered', async (t) => {
    const world = new World(t, longMs);
    await world.join('m1', ['one']);
    const stranger = world.bus.connect();
    const beats: Heartbeat[] = [];
    world.bus.listen('s.hb', ({ data }) => beats.push(parseHeartbeat(data)));
    for (let i = 0; i < 20_000; i++) {
      const sync = { epoch: 1, session: 0, have: 0, next: 1 };
      stranger.publish('s.m.m1', syncText(`x${i}`, sync));
      // The number of its session is to be read in an answer that nobody has.
      const told = { ack: { session: 2, ack: 0 }, cancelled: [], granted: [], drained: [] };
      stranger.publish('s.m.m1', acknowledgementText(`x${i}`, told));
    }
    await stranger.flush();
    for (let i = 0; i < 4000; i++) stranger.publish('s.hi', '');
    const said = await Promise.all(Array.from({ length: 100 }, () => world.call('one')));
    assert.deepEqual([...new Set(said.map(saidBy))], ['m1']);
    await world.until(() => beats.length > 0);
    assert.ok(beats.length <= 100, `${beats.length} heartbeats`);
    assert.equal(beats[0]?.gateways, 1);
  });
});
