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
import { readFrame } from '../../../src/core/workers/wire/frame.ts';
import { Ledger } from '../../../src/core/workers/wire/ledger.ts';
import type { ToReplica } from '../../../src/core/workers/wire/messages.ts';
import { threadWith } from './thread.ts';

const called = procedure({ name: 'called' }, () => null);

function call(id: string, params: unknown = {}): Call {
  const scope = new RequestScope();
  return { procedure: called, id: `"${id}"`, params, source: undefined, start: 0, end: 0, scope };
}

/** Room for the large ones. */
const memory = () => new BodyMemory(2 ** 30, 2 ** 28);

/** What can't be made into text. */
const unsendable = { value: 1n };

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
    const options = {
      timeoutMs: 1000,
      counters: new PoolCounters(),
      bodies: this.memory,
    };
    this.calls = new WorkerCalls(
      threadWith(new Ledger(), post),
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
