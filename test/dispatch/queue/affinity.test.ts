import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { unparsed } from '../../../src/core/dispatch/call.ts';
import { homeOf, keyOfParam } from '../../../src/core/dispatch/queue/affinity.ts';
import type { QueuedCall } from '../../../src/core/dispatch/queue/queued-call.ts';
import type { Affinity } from '../../../src/core/procedures/affinity.ts';
import { assign } from '../../../src/core/workers/pool.ts';
import { Router, Type } from '../../../src/index.ts';
import { replyOf } from '../../replies.ts';
import { cases, seed } from '../../seed.ts';
import { callOf, SimulatedExecutor, scopeOf } from './simulated.ts';

test('rendezvous hashing spreads keys evenly, and a further worker takes keys only for itself', () => {
  const keys = Array.from({ length: 4000 }, (_, n) => `doc-${n}`);
  for (const homes of [1, 2, 3, 8]) {
    const counts = Array<number>(homes).fill(0);
    for (const key of keys) {
      const home = homeOf(key, homes);
      counts[home] = (counts[home] as number) + 1;
      const next = homeOf(key, homes + 1);
      assert.ok(next === home || next === homes, `${key} moved from ${home} to ${next}`);
    }
    for (const count of counts) assert.ok(Math.abs(count * homes - 4000) < 4000 / 5, counts.join());
  }
});

const docId: Affinity = { param: 'docId', mark: '"docId":' };

/** The key of params as they came, as text and as bytes: both must be equal. */
function keyOf(text: string): string | undefined {
  const before = '{"method":"docId","params":';
  const source = `${before}${text},"docId":"not a param"}`;
  const start = before.length;
  const place = { params: unparsed, source, start, end: start + text.length };
  const key = keyOfParam(place, docId);
  const bytes = Buffer.from(`é${source}`).subarray(2);
  const end = start + Buffer.byteLength(text);
  assert.equal(keyOfParam({ ...place, source: bytes, end }, docId), key);
  return key;
}

test('the key of a call is read from its params without parsing them', () => {
  for (const [text, key] of [
    ['{"docId":"a"}', 'a'],
    ['{"page":1,"docId": "ä b" ,"x":2}', 'ä b'],
    ['{"docId":17,"x":2}', '17'],
    ['{"docId":\t-1.5e+3}', '-1.5e+3'],
    [`{"docId":"${'x'.repeat(80)}"}`, 'x'.repeat(64)],
    [`{"docId":"${'x'.repeat(64)}${'y'.repeat(9)}"}`, 'x'.repeat(64)],
    ['{"docId":""}', ''],
    ['{"docId":null}', undefined],
    ['{"docId":{"a":1}}', undefined],
    ['{"docIds":"a"}', undefined],
    ['{}', undefined],
    ['["a",{"docId":"b"}]', undefined],
  ] as const) {
    assert.equal(keyOf(text), key, text);
  }
  const none = { source: undefined, start: -1, end: -1 };
  for (const [params, key] of [
    [{ docId: 'a' }, 'a'],
    [{ docId: 17 }, '17'],
    [{ docId: 'x'.repeat(80) }, 'x'.repeat(64)],
    [{ docId: null }, undefined],
    [['a'], undefined],
    [Object.create({ docId: 'inherited' }), undefined],
    [undefined, undefined],
  ] as const) {
    assert.equal(keyOfParam({ params, ...none }, docId), key);
  }
});

test('texts and numbers without escapes have the same key, parsed or not', () => {
  const plain = fc.stringMatching(/^[\w .äß-]{0,90}$/);
  const property = fc.property(
    fc.oneof(plain, fc.integer(), fc.double({ noNaN: true })),
    (value) => {
      const text = JSON.stringify({ other: 'docId', docId: value });
      const params = JSON.parse(text) as unknown;
      const none = { source: undefined, start: -1, end: -1 };
      assert.equal(keyOf(text), keyOfParam({ params, ...none }, docId));
    },
  );
  fc.assert(property, { seed, numRuns: cases(200) });
});

const router = new Router();
const params = Type.Object({ docId: Type.Integer() });
router.rpc({ name: 'near', params, affinity: 'docId' }, () => 1);
router.rpc({ name: 'plain' }, () => 1);

/** A worker that keeps what it is sent until the test ends it. */
class Worker {
  readonly home: number;
  readonly streamCount = 0;
  readonly isHeldByLong = false;
  readonly items: QueuedCall[] = [];

  constructor(home: number) {
    this.home = home;
  }

  get loadUs(): number {
    return this.items.length * 1000;
  }

  get freeSlots(): number {
    return 4 - this.items.length;
  }

  isCrowdedBy(): boolean {
    return false;
  }
}

/** An executor over such workers, with the pool's own choice among them. */
class Simulated extends SimulatedExecutor {
  readonly workers: readonly Worker[];
  /** What went to a worker, in this order. */
  readonly sent: { readonly item: QueuedCall; readonly home: number }[] = [];
  readonly inFlight = 0;

  constructor(workers: number) {
    super(1000, undefined, workers);
    this.workers = Array.from({ length: workers }, (_, home) => new Worker(home));
  }

  protected send(): void {
    for (;;) {
      const next = assign(this.heads(), this.workers, undefined);
      if (next === undefined) return;
      const { item, worker } = next;
      assert.ok(worker !== 'crowded');
      this.take(item, 0);
      worker.items.push(item);
      item.sendTo({ send: () => 'sent', withdraw: () => false, cancel: () => {} });
      this.sent.push({ item, home: worker.home });
    }
  }

  flush(): void {
    this.send();
  }

  /** A worker has ended the call that it got first. */
  end(home: number): void {
    this.workers[home]?.items.shift()?.answer('{}', 0, 1000);
  }

  /** Somebody calls. */
  call(name: string, key: number, caller = ''): void {
    void replyOf(this, callOf(router, name, '1', scopeOf(caller), { docId: key }));
  }
}

/** The keys 0, 1, ... whose worker of two has this number. */
const keysOf = (home: number): number[] =>
  Array.from({ length: 40 }, (_, key) => key).filter((key) => homeOf(String(key), 2) === home);

test('a call goes to the worker of its key while that has room, else to the next worker that has', () => {
  const executor = new Simulated(2);
  const [mine = 0] = keysOf(0);
  const [theirs = 0] = keysOf(1);
  const call = (key: number): void => {
    executor.call('near', key);
    executor.flush();
  };
  for (const key of [theirs, mine]) call(key);
  for (const home of [0, 1]) executor.end(home);
  for (const key of [mine, mine, theirs]) call(key);
  for (const home of [0, 1, 0]) {
    executor.end(home);
    executor.flush();
  }
  const seen = executor.sent.map(({ item, home }) => {
    const key = (item.call.params as { docId: number } | undefined)?.docId;
    return `${key === mine ? 'mine' : 'theirs'} ${home}`;
  });
  assert.deepEqual(seen, ['theirs 1', 'mine 0', 'mine 0', 'mine 1', 'theirs 0']);
});

test('callers of calls with affinity and of others have the same share of a worker', () => {
  const executor = new Simulated(1);
  for (let n = 0; n < 200; n++) executor.call('near', n, 'greedy');
  executor.flush();
  for (let n = 0; n < 20; n++) {
    executor.call('plain', n, 'ann');
    executor.call('near', n, 'bob');
  }
  for (let n = 0; n < 60; n++) {
    executor.end(0);
    executor.flush();
  }
  const counts = { greedy: 0, ann: 0, bob: 0 };
  for (const { item } of executor.sent) counts[item.scope.callerKey as keyof typeof counts]++;
  for (const count of [counts.ann, counts.bob]) {
    assert.ok(count >= 14, JSON.stringify(counts));
  }
});
