import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { clockMs } from '../../src/core/base/clock.ts';
import { ReplyMemory } from '../../src/core/dispatch/reply-memory.ts';
import { RequestScope } from '../../src/core/dispatch/scope.ts';
import { defaultRetention } from '../../src/extras/nats/member/remote-gateway.ts';
import {
  acknowledgementText,
  FrameText,
  ReplyKind,
  readToGateway,
  readToMember,
  syncedText,
  syncText,
  type WireReply,
} from '../../src/extras/nats/wire.ts';
import { Board } from '../dispatch/executors/board.ts';
import { fixture } from '../files.ts';
import { inReverse, TestService } from '../harness.ts';
import { deferred } from '../turns.ts';
import { Bus, type BusConnection } from './bus/bus.ts';
import { Rig, saidBy } from './bus/rig.ts';
import { longMs, memberOf } from './parts.ts';

/** A call that runs until it is aborted. */
async function running(rig: Rig) {
  const beginning = deferred<void>();
  const aborting = deferred<void>();
  rig.handle = (key, _, signal) => {
    beginning.resolve();
    return new Promise((resolve) => {
      signal.addEventListener('abort', () => {
        aborting.resolve();
        resolve(key);
      });
    });
  };
  const scope = new RequestScope({});
  const ended = rig.execute(rig.call('k', { scope }));
  await rig.until(beginning.promise);
  return { scope, ended, aborting: aborting.promise };
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

/** A member with one worker, and a gateway that writes its messages itself. */
class Wire {
  readonly bus = new Bus();
  readonly replies: WireReply[] = [];
  readonly #gateway: BusConnection = this.bus.connect();
  #session = 0;
  #frames = 0;

  static async open(t: TestContext): Promise<Wire> {
    const wire = new Wire();
    const own = inReverse(t);
    const { dispatcher: service } = await TestService.start(own, {
      modules: [fixture('executors/procedures.ts')],
      maxRequestMs: longMs,
      metrics: false,
    });
    const member = memberOf(wire.bus.connect(), service, 'm0', Buffer.from('[]'));
    own.after(() => member.close());
    wire.#gateway.subscribe('s.g.gw.>', ({ data }) => wire.#read(data));
    wire.#send(syncText('gw', { epoch: 1, session: 0, have: 0, next: 1 }));
    await wire.until(() => wire.#session > 0);
    return wire;
  }

  /** Calls that follow one another, by ticket, procedure and tag. */
  frame(...calls: readonly (readonly [ticket: number, method: string, tag: string])[]): void {
    const frame = new FrameText();
    for (const [i, [ticket, method, tag]] of calls.entries()) {
      const body = JSON.stringify({ jsonrpc: '2.0', method, params: { tag }, id: ticket });
      const head = { ticket, follows: i > 0, isRead: false, timeoutMs: -1, runMs: -1, facts: '{}' };
      frame.add(head, body);
    }
    this.#send(frame.toMessage('gw', { session: this.#session, n: ++this.#frames, ack: 0 }));
  }

  cancel(...cancelled: readonly number[]): void {
    const ack = { session: this.#session, ack: 0 };
    this.#send(acknowledgementText('gw', { ack, cancelled, granted: [], drained: [] }));
  }

  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise((resolve) => setImmediate(resolve));
  }

  #send(data: Uint8Array | string): void {
    this.#gateway.publish('s.m.m0', data);
  }

  #read(data: Uint8Array): void {
    const message = readToGateway(data);
    if (message.kind === 'synced') this.#session = message.answer.session;
    else if (message.kind === 'replies') this.replies.push(...message.replies);
  }
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

  test('of a batch whose caller has gone no further call begins at its member', async (t) => {
    const wire = await Wire.open(t);
    const board = new Board();
    t.after(() => board.close());
    wire.frame([1, 'spin', 'spins']);
    await board.until('spins', 'began');
    // The one waits for the worker, the other would begin on the member's own thread.
    wire.frame([2, 'value', 'waits'], [3, 'untilAborted', 'follows']);
    wire.cancel(2, 3);
    await wire.until(() => wire.replies.length === 2);
    const told = wire.replies.map(({ ticket, kind, code, runUs }) => [ticket, kind, code, runUs]);
    assert.deepEqual(told, [
      [2, ReplyKind.final, -32003, -1],
      [3, ReplyKind.final, -32003, -1],
    ]);
  });
});

/** A gateway that has some parts of a large reply, of which the rest is lost. */
async function halfway(t: TestContext) {
  const rig = await Rig.open(t);
  rig.handle = async (key) => key.repeat(1_000_000);
  let parts = 0;
  rig.bus.mayDeliver = (subject) => !subject.startsWith('s.g.') || ++parts <= 3;
  const scope = new RequestScope({});
  const ended = rig.execute(rig.call('k', { scope }));
  const gatheredBytes = () => rig.pool.replyMemory.stats().waiting;
  while (gatheredBytes() === 0) await rig.turn();
  return { rig, scope, ended, gatheredBytes };
}

describe('parts of a large reply that does not come whole', () => {
  test('are kept over an outage, and the reply comes', async (t) => {
    const { rig, ended, gatheredBytes } = await halfway(t);
    rig.bus.mayDeliver = () => true;
    rig.toMembers.become('disconnected');
    rig.toMembers.become('reconnected');
    assert.equal(saidBy(await rig.until(ended)), 'k'.repeat(1_000_000));
    assert.equal(gatheredBytes(), 0);
  });

  test('are dropped when nobody waits for it any more', async (t) => {
    const { scope, gatheredBytes } = await halfway(t);
    scope.cancel();
    assert.equal(gatheredBytes(), 0);
  });

  test('are dropped when its call is lost', async (t) => {
    const { rig, ended, gatheredBytes } = await halfway(t);
    rig.remotes[0]?.lose('member');
    assert.equal(saidBy(await rig.until(ended)), -32002);
    assert.equal(gatheredBytes(), 0);
  });

  test('are dropped when the member has forgotten it', async (t) => {
    const { rig, ended, gatheredBytes } = await halfway(t);
    const member = rig.bus.connect();
    rig.bus.mayDeliver = (subject, data) => {
      if (!subject.startsWith('s.m.')) return true;
      const message = readToMember(data);
      if (message.kind === 'sync') {
        const { epoch, next } = message.request;
        member.publish('s.g.gw.m0', syncedText({ epoch, session: 2 ** 40, got: 0, from: next }));
      }
      return false;
    };
    rig.toMembers.become('disconnected');
    rig.toMembers.become('reconnected');
    assert.equal(saidBy(await rig.until(ended)), -32002);
    assert.equal(gatheredBytes(), 0);
  });
});

describe('a member with many bytes of replies for a gateway', () => {
  const retention = { ...defaultRetention, bytes: 1_000_000 };

  test('loses none while the gateway is within reach, and begins no call until it has taken some', async (t) => {
    const rig = await Rig.open(t, { member: { retention } });
    rig.handle = async (key) => key.repeat(100_000);
    const first = Array.from({ length: 30 }, () => rig.execute(rig.call('a')));
    const replies = (await rig.until(Promise.all(first))).map(saidBy);
    assert.deepEqual(replies, Array(30).fill('a'.repeat(100_000)));
    rig.bus.mayDeliver = (subject) => !subject.startsWith('s.g.');
    const unread = Array.from({ length: 30 }, () => rig.execute(rig.call('b')));
    for (let i = 0; i < 100; i++) await rig.turn();
    const begun = rig.runs.length;
    const scope = new RequestScope({});
    const left = rig.execute(rig.call('left', { scope }));
    const late = rig.execute(rig.call('late'));
    for (let i = 0; i < 100; i++) await rig.turn();
    assert.equal(rig.runs.length, begun);
    scope.cancel();
    rig.bus.mayDeliver = () => true;
    rig.remotes[0]?.channel.interrupt();
    assert.equal(saidBy(await rig.until(left)), -32003);
    assert.deepEqual(
      (await rig.until(Promise.all(unread))).map(saidBy),
      Array(30).fill('b'.repeat(100_000)),
    );
    assert.equal(saidBy(await rig.until(late)), 'late'.repeat(100_000));
    assert.equal(rig.runs.includes('left'), false);
    assert.equal(rig.pool.counters.lost, 0);
    assert.equal(rig.members[0]?.options.service.bodyMemory.stats().inUse, 0);
  });
});

describe('the limits of replies hold while a gateway gathers a reply', () => {
  test('above maxReplyBytes it is -32004 before the whole has come, and its parts are dropped', async (t) => {
    const rig = await Rig.open(t, { pool: { maxReplyBytes: 500_000 } });
    rig.handle = async (key) => key.repeat(key === 'k' ? 5_000_000 : 1);
    const { replyMemory } = rig.pool;
    let parts = 0;
    let most = 0;
    rig.bus.mayDeliver = (subject) => {
      most = Math.max(most, replyMemory.stats().waiting);
      return !subject.startsWith('s.g.') || ++parts <= 6;
    };
    const ended = rig.execute(rig.call('k'));
    let reply: unknown;
    void ended.then((value) => {
      reply = saidBy(value);
    });
    for (let i = 0; i < 200 && reply === undefined; i++) await rig.turn();
    assert.equal(reply, -32004);
    assert.ok(most > 100_000 && most <= 500_000, `${most} bytes`);
    assert.equal(replyMemory.stats().waiting, 0);
    rig.bus.mayDeliver = () => true;
    rig.remotes[0]?.channel.interrupt();
    assert.equal(saidBy(await rig.until(rig.execute(rig.call('next')))), 'next');
    assert.equal(replyMemory.stats().waiting, 0);
  });

  test('above maxReplyMemory the call whose parts come slowest is -32002, and the others go on', async (t) => {
    const replyMemory = new ReplyMemory(550_000);
    const members = [['run'], ['other']];
    const rig = await Rig.open(t, { members, pool: { replyMemory } });
    rig.handle = async (key) => key.repeat(600_000);
    let parts = 0;
    rig.bus.mayDeliver = (subject) => subject !== 's.g.gw.m0' || ++parts <= 4;
    const slow = rig.execute(rig.call('s'));
    while (replyMemory.stats().waiting < 100_000) await rig.turn();
    const other = rig.execute(rig.call('o', { name: 'other' }));
    assert.equal(saidBy(await rig.until(slow)), -32002);
    assert.equal(saidBy(await rig.until(other)), 'o'.repeat(600_000));
    assert.deepEqual(replyMemory.stats(), { waiting: 0, limit: 550_000, cut: 1 });
    rig.bus.mayDeliver = () => true;
    rig.remotes[0]?.channel.interrupt();
    assert.equal(saidBy(await rig.until(rig.execute(rig.call('n')))), 'n'.repeat(600_000));
  });
});
