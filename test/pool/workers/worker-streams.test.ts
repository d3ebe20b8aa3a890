import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Call, CallEnding } from '../../../src/core/dispatch/call.ts';
import { CostEstimate } from '../../../src/core/dispatch/queue/cost.ts';
import { QueuedCall, type QueuedCallOwner } from '../../../src/core/dispatch/queue/queued-call.ts';
import { RequestScope } from '../../../src/core/dispatch/scope.ts';
import type { StreamFlow, StreamSink } from '../../../src/core/dispatch/streams/contract.ts';
import { procedure } from '../../../src/core/procedures/procedure.ts';
import { Ledger } from '../../../src/core/workers/wire/ledger.ts';
import { ItemKind } from '../../../src/core/workers/wire/messages.ts';
import { WorkerStreams } from '../../../src/core/workers/worker-streams.ts';
import { openStreams } from '../../dispatch/open-streams.ts';
import { threadWith } from './thread.ts';

const streaming = procedure({ name: 'streaming', timeoutMs: 100 }, function* () {
  yield 1;
});
const ticket = 4096;
const granted = 32;

type Item = readonly [number: number, kind: number, text: unknown];

/** The streams of a worker whose thread tells what the test says, and one stream that has opened there. */
class Bench {
  readonly ledger = new Ledger();
  readonly garbled: string[] = [];
  /** What the reader of the stream has got. */
  readonly got: string[] = [];
  readonly replies: string[] = [];
  readonly streams: WorkerStreams;
  readonly item: QueuedCall;
  readonly flows: StreamFlow[] = [];

  constructor(scope = new RequestScope()) {
    this.streams = new WorkerStreams(
      threadWith(this.ledger),
      { streams: openStreams(1000), group: undefined, timeoutMs: 1000 },
      (detail) => this.garbled.push(detail),
    );
    this.item = this.open(ticket, scope);
  }

  /** Of the stream that has opened first. */
  get flow(): StreamFlow | undefined {
    return this.flows[0];
  }

  open(at: number, scope = new RequestScope()): QueuedCall {
    const sink: StreamSink = {
      opened: (flow) => {
        this.flows.push(flow);
        flow.grant(granted, 1000);
        return '"opened"';
      },
      value: (text) => this.got.push(text),
      end: ({ ok, code, text }) => this.got.push(`${ok ? 'result' : code} ${text}`),
    };
    const params = { params: undefined, source: undefined, start: -1, end: -1 };
    const call: Call = { procedure: streaming, id: '1', ...params, scope, sink };
    const owner: QueuedCallOwner = {
      ending: new CallEnding('worker', 1000, undefined),
      onDone: () => {},
      onResume: () => {},
      onTooLarge: () => {},
      onCancelled: () => {},
    };
    const item = new QueuedCall(call, new CostEstimate(), 0, 0, owner, {
      onReply: (reply) => this.replies.push(String(reply)),
    });
    item.ticket = at;
    this.streams.enter(item, sink, 5, 5);
    return item;
  }

  take(number: number, kind: number, text: unknown, code = 0): void {
    this.streams.take(-ticket, code, number, kind, text);
  }
}

describe('the streams of a worker', () => {
  test('take nothing that a worker in order can not tell', () => {
    const wrong: Item[] = [
      [0.5, ItemKind.value, '1'],
      [-1, ItemKind.value, '1'],
      [granted + 2, ItemKind.value, '1'],
      [Number.NaN, ItemKind.value, '1'],
      [0, 4, '1'],
      [0, -1, '1'],
      [0, ItemKind.value, new Uint8Array(1)],
      [0, ItemKind.value, undefined],
    ];
    for (const item of wrong) {
      const bench = new Bench();
      bench.take(...item);
      assert.deepEqual(bench.got, []);
      assert.equal(bench.garbled.length, 1);
      bench.take(0, ItemKind.value, '1');
      assert.deepEqual(bench.got, ['1'], 'the stream goes on');
      bench.take(0, ItemKind.value, '1');
      assert.deepEqual(bench.got, ['1'], 'an item comes once');
    }
  });

  test('what comes late, or for a stream that never was, is passed over', () => {
    const bench = new Bench();
    bench.flow?.cancel();
    bench.take(0, ItemKind.value, '1');
    bench.take(1, ItemKind.error, '{}', -32603);
    bench.streams.take(-ticket * 2, 0, 0, ItemKind.value, '1');
    assert.deepEqual([bench.got, bench.garbled], [[], []]);
    bench.take(2, ItemKind.closed, '');
    bench.take(2, ItemKind.closed, '');
    assert.equal(bench.streams.generators, 0);
  });

  test('512 generators that were told to end long ago, and are still there, use up their worker', () => {
    const bench = new Bench();
    for (let i = 1; i < 512; i++) bench.open(ticket + i);
    const now = performance.now();
    assert.equal(bench.streams.isSpent(now + 1e6), false);
    for (const flow of bench.flows) flow.cancel();
    assert.deepEqual([bench.streams.open, bench.streams.generators], [0, 512]);
    assert.equal(bench.streams.isSpent(now + 5000), false);
    assert.equal(bench.streams.isSpent(now + 20_000), true);
    bench.take(0, ItemKind.closed, '');
    assert.equal(bench.streams.isSpent(now + 20_000), false);
  });
});
