import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BodyMemory } from '../../../src/core/dispatch/body-memory.ts';
import { type Call, CallEnding } from '../../../src/core/dispatch/call.ts';
import { CostEstimate, frameBudgetUs } from '../../../src/core/dispatch/queue/cost.ts';
import {
  OrderedCalls,
  QueuedCall,
  type QueuedCallOwner,
} from '../../../src/core/dispatch/queue/queued-call.ts';
import { RequestScope } from '../../../src/core/dispatch/scope.ts';
import { procedure } from '../../../src/core/procedures/procedure.ts';
import { WorkerCalls } from '../../../src/core/workers/calls.ts';
import { PoolCounters } from '../../../src/core/workers/options.ts';
import type { Frame } from '../../../src/core/workers/wire/frame.ts';
import { FrameBuilder, readFrame } from '../../../src/core/workers/wire/frame.ts';
import { Ledger } from '../../../src/core/workers/wire/ledger.ts';
import type { ToReplica } from '../../../src/core/workers/wire/messages.ts';

const called = procedure({ name: 'called' }, () => null);

function call(id: string, params: unknown = {}): Call {
  const scope = new RequestScope();
  return { procedure: called, id: `"${id}"`, params, source: undefined, start: 0, end: 0, scope };
}

/** Room for the large ones. */
const memory = () => new BodyMemory(2 ** 30, 2 ** 28);

/** What can't be made into text. */
const unsendable = { value: 1n };

test('a call that can not be put into a frame leaves no trace in it', () => {
  const bodies = memory();
  const frame = new FrameBuilder(bodies);
  const bad = call('bad', unsendable);
  const large = { ...bad, params: 'x'.repeat(100_000) };
  frame.add(call('a', ['one']), 1, false, false, 1);
  assert.throws(() => frame.add(bad, 2, true, false, 1), TypeError);
  frame.add(large, 3, false, false, 1);
  assert.throws(() => frame.add(bad, 4, false, false, 1), TypeError);
  frame.add(call('b', ['two']), 5, true, false, 1);
  assert.equal(frame.count, 3);
  const entries = readFrame(frame.take()).map(({ ticket, id, follows }) => [ticket, id, follows]);
  assert.deepEqual(entries, [
    [1, '"a"', false],
    [3, '"bad"', false],
    [5, '"b"', true],
  ]);
  assert.equal(frame.count, 0);
});

test('facts of the caller are looked up for procedures that can see them, and for no others', () => {
  const asked: string[] = [];
  const facts = {
    get remoteAddress() {
      asked.push('address');
      return '192.0.2.1';
    },
    get headers() {
      asked.push('headers');
      return { 'x-tenant': 'a' };
    },
    traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  };
  const scope = new RequestScope(facts);
  scope.authText = '{"sub":"a"}';
  const frame = new FrameBuilder(memory());
  frame.add({ ...call('blind'), scope }, 1, false, false, 1);
  assert.equal(asked.length, 0);
  const seeing = procedure({ name: 'seeing' }, (_params, { id }) => id);
  frame.add({ ...call('seeing'), procedure: seeing, scope }, 2, false, false, 1);
  const [blind, seen] = readFrame(frame.take());
  assert.equal(blind?.facts, undefined);
  assert.equal(seen?.facts?.remoteAddress, '192.0.2.1');
  assert.equal(seen?.facts?.authText, '{"sub":"a"}');
  assert.deepEqual(seen?.facts?.headers, { 'x-tenant': 'a' });
  assert.ok(asked.includes('address'));
});

/** The way to a worker, whose port takes a frame only if it may. */
class Bench {
  readonly frames: Frame[] = [];
  readonly faults: string[] = [];
  readonly replies = new Map<string, string>();
  readonly memory = memory();
  readonly calls: WorkerCalls;

  constructor(mayPost: (ids: readonly (string | undefined)[]) => boolean) {
    const post = (message: ToReplica): void => {
      assert.ok(message.type === 'frame');
      if (!mayPost(readFrame(message).map(({ id }) => id))) throw new Error('out of memory');
      this.frames.push(message);
    };
    const thread = { ledger: new Ledger(), idleMs: 0, post, collect: () => {}, kill: () => {} };
    const options = {
      timeoutMs: 1000,
      counters: new PoolCounters(),
      bodies: this.memory,
    };
    this.calls = new WorkerCalls(
      thread,
      options,
      ({ detail }) => this.faults.push(detail),
      () => assert.fail('no call is bounded'),
    );
  }

  /** Calls that run in order. */
  add(...calls: Call[]): QueuedCall[] {
    const owner: QueuedCallOwner = {
      ending: new CallEnding('fake', 1000, undefined),
      onDone: () => {},
      onResume: (item) => item.sendTo(this.calls),
      onTooLarge: () => {},
      onCancelled: () => {},
    };
    const order = new OrderedCalls(new RequestScope(), owner, {
      onReply: (replies) => {
        for (const [at, reply] of replies.entries())
          this.replies.set(calls[at]?.id ?? '', reply?.toString() ?? '');
      },
    });
    const items = calls.map((one) => new QueuedCall(one, new CostEstimate(), 0, 0, owner, order));
    const [first] = items;
    if (first !== undefined) first.isShort = true;
    first?.sendTo(this.calls);
    return items;
  }

  sent(): unknown[] {
    return this.frames.map((frame) => readFrame(frame).map(({ id, follows }) => [id, follows]));
  }
}

test('a call that can not be sent is answered, those beside it and after it are sent', () => {
  const bench = new Bench(() => true);
  bench.add(call('a'));
  bench.add(call('b', unsendable));
  bench.add(call('c', unsendable), call('d'), call('e'), call('f', unsendable));
  bench.calls.flush();
  assert.deepEqual(bench.sent(), [
    [
      ['"a"', false],
      ['"d"', false],
      ['"e"', true],
    ],
  ]);
  assert.equal(bench.calls.count, 3);
  assert.equal(bench.faults.length, 3);
  assert.match(bench.replies.get('"b"') ?? '', /"code":-32603.*"ref"/);
});

test('calls whose frame can not be posted are answered with -32603, and later ones are sent', () => {
  const bench = new Bench((ids) => !ids.includes('"c"'));
  bench.add(call('a'));
  bench.add(call('b'), call('c'), call('d'));
  bench.calls.flush();
  assert.deepEqual(bench.sent(), []);
  for (const id of ['"a"', '"b"', '"c"', '"d"']) {
    assert.match(bench.replies.get(id) ?? '', /-32603/);
  }
  assert.equal(bench.faults.length, 4);
  assert.equal(bench.calls.count, 0);
  assert.equal(bench.calls.loadUs, 0);
  bench.add(call('e'));
  bench.calls.flush();
  assert.deepEqual(bench.sent(), [[['"e"', false]]]);
  assert.equal(bench.calls.loadUs, frameBudgetUs);
});

test('calls that come back wait: the first of them for a worker, the others for those before them', () => {
  const bench = new Bench(() => true);
  const items = bench.add(call('a'), call('b'), call('c'));
  bench.calls.flush();
  assert.equal(bench.calls.long, 0);
  assert.deepEqual(bench.calls.takeBack(), items);
  assert.equal(bench.calls.count, 0);
  assert.deepEqual(
    items.map(({ state, isReturned, waiting }) => [state, isReturned, waiting]),
    [
      ['held', true, 3],
      ['held', true, 2],
      ['held', true, 1],
    ],
  );
});
