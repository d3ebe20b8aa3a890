import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { BodyMemory } from '../../../src/core/dispatch/body-memory.ts';
import { type Call, CallEnding, unparsed } from '../../../src/core/dispatch/call.ts';
import { CostEstimate } from '../../../src/core/dispatch/queue/cost.ts';
import { QueuedCall, type QueuedCallOwner } from '../../../src/core/dispatch/queue/queued-call.ts';
import { RequestScope } from '../../../src/core/dispatch/scope.ts';
import { procedure } from '../../../src/core/procedures/procedure.ts';
import {
  PoolCounters,
  type PoolOptions,
  type WorkerEvents,
} from '../../../src/core/workers/options.ts';
import { Ledger } from '../../../src/core/workers/wire/ledger.ts';
import { PoolWorker } from '../../../src/core/workers/worker.ts';
import { openStreams } from '../../dispatch/open-streams.ts';
import { threadWith } from './thread.ts';

const large = 1024 ** 2;
const called = procedure({ name: 'called' }, () => null);

const never = (): never => assert.fail('nothing of it happens here');
const events: WorkerEvents = {
  onLine: never,
  onFault: never,
  onGarbled: never,
  onBroadcastFailed: never,
  onUncaught: never,
  onLost: never,
  onKilled: never,
  onPlaceHeld: never,
  onNoStack: never,
  onRetired: never,
  onRestartFailed: never,
  onOutdated: never,
  onNotNiced: never,
};

const workerOwner = {
  onCapacity: () => {},
  onLoaded: never,
  onFiles: never,
  onLoadFailed: never,
  onLate: never,
  onBroken: never,
  onRetired: never,
  onUncaught: never,
  onEnd: never,
};

/** A worker whose thread does what the test says, and a call of a large body that it was sent. */
class Bench {
  readonly memory = new BodyMemory(256 * large, 16 * large);
  readonly ledger = new Ledger();
  readonly worker: PoolWorker;
  readonly item: QueuedCall;
  readonly buffer: ArrayBufferLike;

  constructor(scope = new RequestScope()) {
    const thread = threadWith(this.ledger);
    const options = {
      timeoutMs: 1000,
      counters: new PoolCounters(),
      bodies: this.memory,
      streams: openStreams(1000),
    } as PoolOptions; // a worker that has loaded asks for no others
    this.worker = new PoolWorker(() => thread, undefined, workerOwner, options, events);
    const body = this.memory.lend(large);
    assert.ok(body !== undefined);
    this.buffer = body.bytes.buffer;
    scope.body = body;
    const place = { source: body.bytes, start: 0, end: large };
    const call: Call = { procedure: called, id: '1', params: unparsed, ...place, scope };
    const owner: QueuedCallOwner = {
      ending: new CallEnding('fake', 1000, undefined),
      // The transport has its answer: it lets go of the body.
      onDone: () => body.release(),
      onResume: () => {},
      onTooLarge: never,
      onCancelled: never,
    };
    this.item = new QueuedCall(call, new CostEstimate(), 0, 0, owner, { onReply: () => {} });
    this.item.sendTo(this.worker.calls);
    this.worker.calls.flush();
  }

  /** The thread begins the call, and so may be reading the body at any time. */
  start(): this {
    assert.ok(this.ledger.start(this.item.ticket, 0));
    return this;
  }

  /** Whether the next body of this size comes to lie where this one lies. */
  get isFree(): boolean {
    const next = this.memory.lend(large);
    const isSame = next?.bytes.buffer === this.buffer;
    next?.release();
    return isSame;
  }
}

describe('the buffer of a large body that a worker was sent', () => {
  test('is free when the worker has ended the call, and not before', () => {
    const bench = new Bench().start();
    assert.equal(bench.isFree, false);
    bench.worker.onResult(bench.item.ticket, 0, 5, 5, '{"id":1,"result":null}');
    assert.equal(bench.isFree, true);
  });

  test('is free when the call was taken back before it began', () => {
    const bench = new Bench();
    const [taken] = bench.worker.calls.takeBack();
    assert.equal(bench.ledger.start(bench.item.ticket, 0), false);
    assert.equal(bench.isFree, false, 'it is to go to another worker');
    assert.equal(taken?.state, 'held');
    bench.item.answer(undefined, 0, 0);
    assert.equal(bench.isFree, true);
  });

  for (const [what, end] of [
    ['lost', (worker: PoolWorker) => worker.lose('error')],
    ['given up at the close', (worker: PoolWorker) => worker.abandon()],
  ] as const) {
    test(`is not free while the thread of a worker that is ${what} may still read`, () => {
      const bench = new Bench().start();
      end(bench.worker);
      assert.ok(bench.item.isAnswered);
      assert.equal(bench.isFree, false);
      bench.worker.onGone();
      assert.equal(bench.isFree, true);
    });
  }

  test('is not free when the call is answered at its deadline, but when its worker has heard of it', () => {
    const bench = new Bench(new RequestScope({ timeoutMs: 1 }, 0)).start();
    bench.ledger.leave();
    bench.worker.calls.expire(1e9, () => {});
    assert.ok(bench.item.isAnswered);
    assert.equal(bench.isFree, false);
    bench.worker.calls.aborted(bench.item.ticket);
    assert.equal(bench.isFree, true);
  });
});
