import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RequestScope } from '../../src/core/dispatch/scope.ts';
import { Subjects } from '../../src/extras/nats/subjects.ts';
import {
  bodyPart,
  FrameText,
  largeFrame,
  ReplyKind,
  readToGateway,
  syncText,
  type WireReply,
} from '../../src/extras/nats/wire.ts';
import { Rig, saidBy } from './bus/rig.ts';

const subjects = new Subjects('s');

/** A handler that takes a turn, and fails where another call of the test runs at the same time. */
function oneByOne(): (key: string) => Promise<string> {
  let running = 0;
  return async (key) => {
    running++;
    await new Promise((resolve) => setImmediate(resolve));
    running--;
    return running === 0 ? key : `${key} ran beside another`;
  };
}

/** What all calls that a test writes itself have in common. */
const head = { ticket: 0, follows: false, isRead: false, timeoutMs: -1, runMs: -1, facts: '{}' };

function bodyOf(key: string): string {
  const params = JSON.stringify({ key, text: '' });
  return `{"jsonrpc":"2.0","method":"run","params":${params},"id":1}`;
}

/** A gateway beside that of the rig, whose messages the test writes itself. */
async function otherGateway(rig: Rig) {
  const connection = rig.bus.connect();
  const replies: WireReply[] = [];
  let session = 0;
  connection.subscribe('s.g.other.>', ({ data }) => {
    const message = readToGateway(data);
    if (message.kind === 'synced') ({ session } = message.answer);
    else if (message.kind === 'replies') replies.push(...message.replies);
  });
  const send = (data: string | Uint8Array) => connection.publish(subjects.toMember('m0'), data);
  send(syncText('other', { epoch: 1, session: 0, have: 0, next: 1 }));
  while (session === 0) await rig.turn();
  return { send, session, replies };
}

describe('calls on their way to a member', () => {
  test('calls of a batch run one after another, however many bytes they are', async (t) => {
    const rig = await Rig.open(t);
    rig.handle = oneByOne();
    const text = 'x'.repeat(20_000);
    const calls = Array.from({ length: 40 }, (_, i) => rig.call(`k${i}`, { text }));
    const replies = await rig.until(rig.executeInOrder(calls));
    const keys = calls.map((_, i) => `k${i}`);
    assert.deepEqual(replies.map(saidBy), keys);
    assert.deepEqual(rig.runs, keys);
  });

  test('a batch that finds its frame nearly full is not cut either', async (t) => {
    const rig = await Rig.open(t);
    const single = rig.call('single', { text: 'x'.repeat(128 * 1024 - 400) });
    const calls = Array.from({ length: 8 }, (_, i) => rig.call(`k${i}`, { text: 'y'.repeat(100) }));
    const before = rig.execute(single);
    const handle = oneByOne();
    rig.handle = async (key) => (key === 'single' ? key : handle(key));
    const replies = await rig.until(rig.executeInOrder(calls));
    assert.equal(saidBy(await rig.until(before)), 'single');
    assert.deepEqual(
      replies.map(saidBy),
      calls.map((_, i) => `k${i}`),
    );
  });

  test('a call that follows one of another frame is given back, with all behind it', async (t) => {
    const rig = await Rig.open(t);
    const { send, session, replies } = await otherGateway(rig);
    const frame = new FrameText();
    for (const [ticket, follows] of [
      [1, true],
      [2, true],
      [3, false],
    ] as const) {
      frame.add({ ...head, ticket, follows }, bodyOf(`k${ticket}`));
    }
    send(frame.toMessage('other', { session, n: 1, ack: 0 }));
    while (replies.length < 3) await rig.turn();
    assert.deepEqual(rig.runs, ['k3']);
    const kinds = new Map(replies.map(({ ticket, kind }) => [ticket, kind]));
    assert.equal(kinds.get(1), ReplyKind.notRun);
    assert.equal(kinds.get(2), ReplyKind.notRun);
    assert.equal(kinds.get(3), ReplyKind.final);
  });

  test('a body longer or shorter than announced is answered with -32700 at once, and the calls beside it with results', async (t) => {
    const rig = await Rig.open(t);
    const { send, session, replies } = await otherGateway(rig);
    let n = 0;
    const mark = () => ({ session, n: ++n, ack: 0 });
    const part = (ticket: number, total: number, bytes: number) =>
      send(bodyPart('other', mark(), ticket, total, Buffer.alloc(bytes, ' ')));
    const last = (ticket: number, bytes: number) =>
      send(largeFrame('other', mark(), { ...head, ticket }, Buffer.alloc(bytes, ' ')));
    // Parts that are too long, or an end that is too long or too short, of small and of large bodies.
    for (const [ticket, total, ...sizes] of [
      [1, 100, 60, 60],
      [2, 100, 60, 30],
      [3, 100, 60, 60, 10],
      [4, 100_000, 60_000, 60_000],
      [5, 100_000, 60_000, 30_000],
      [6, 100_000, 60_000, 60_000, 10_000],
    ] as const) {
      for (const size of sizes.slice(0, -1)) part(ticket, total, size);
      last(ticket, sizes.at(-1) as number);
    }
    // The body of the seventh call is the rest of a frame that has another call.
    part(7, 100, 60);
    const beside = bodyOf('k8');
    const { g, s, a } = { g: 'other', s: session, a: 0 };
    const c = [7, 0, -1, -1, 0, -1, 8, 0, -1, -1, 0, beside.length];
    send(`${JSON.stringify({ g, s, n: ++n, a, c, f: [{}] })}\n${beside}`);
    for (let i = 0; i < 200 && replies.length < 8; i++) await rig.turn();
    const ended = replies.map(({ ticket, kind, code }) => [ticket, kind, code]);
    assert.deepEqual(
      ended.sort(([one = 0], [other = 0]) => one - other),
      [1, 2, 3, 4, 5, 6, 7, 8].map((each) => [each, ReplyKind.final, each === 8 ? 0 : -32700]),
    );
    assert.deepEqual(rig.runs, ['k8']);
    assert.deepEqual(rig.bus.failures, []);
    assert.equal(rig.members[0]?.options.service.bodyMemory.stats().inUse, 0);
  });

  test('what is known of requests counts: no frame is larger than the server takes', async (t) => {
    const maxPayload = 128 * 1024;
    const rig = await Rig.open(t, { maxPayload });
    const calls = Array.from({ length: 70 }, (_, i) => {
      const headers = { 'x-tenant': 'é'.repeat(7000) + i };
      return rig.call(`k${i}`, { scope: new RequestScope({ headers }) });
    });
    const auth = Array.from({ length: 1000 }, (_, i) => {
      const scope = new RequestScope({});
      scope.authText = JSON.stringify({ sub: 'a'.repeat(1000) + i });
      return rig.call(`a${i}`, { scope });
    });
    const all = [...calls, ...auth].map((call) => rig.execute(call));
    const replies = await rig.until(Promise.all(all));
    for (const [i, reply] of replies.entries()) {
      assert.equal(saidBy(reply), i < 70 ? `k${i}` : `a${i - 70}`);
    }
    assert.equal(rig.pool.counters.requeued, 0);
  });

  test('more is known of a request than the server takes: -32004, and the others go on', async (t) => {
    const rig = await Rig.open(t, { maxPayload: 128 * 1024 });
    const scope = new RequestScope({ headers: { 'x-tenant': 'x'.repeat(70_000) } });
    const large = [rig.call('large', { scope }), rig.call('behind', { scope })];
    const [refused, ...others] = await rig.until(
      Promise.all([
        rig.executeInOrder(large),
        rig.execute(rig.call('small')),
        rig.execute(rig.call('body', { text: 'é'.repeat(200_000) })),
      ]),
    );
    assert.deepEqual(refused.map(saidBy), [-32004, -32004]);
    assert.match(String(refused[0]), /"limit":65024/);
    assert.deepEqual(others.map(saidBy), ['small', 'body']);
    assert.deepEqual(rig.runs.sort(), ['body', 'small']);
  });
});
