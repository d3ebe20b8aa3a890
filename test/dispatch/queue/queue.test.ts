import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { PlainQueue } from '../../../src/core/dispatch/queue/fair-queue.ts';
import type { QueuedCall } from '../../../src/core/dispatch/queue/queued-call.ts';
import { seed } from '../../seed.ts';

/** What the queue sees of a group. */
interface FakeUnit {
  readonly name: number;
  waiting: number;
  readonly expectedUs: number;
  queue: unknown;
}

class Pair {
  readonly queue = new PlainQueue<QueuedCall>();
  readonly model: FakeUnit[] = [];
  names = 0;

  make(waiting: number): FakeUnit {
    return {
      name: this.names++,
      waiting,
      expectedUs: waiting * 3,
      queue: undefined,
    };
  }

  push(waiting: number): void {
    const group = this.make(waiting);
    this.queue.push(group as unknown as QueuedCall);
    this.model.push(group);
  }

  shift(): void {
    const peeked = this.queue.peek();
    const shifted = this.queue.shift();
    assert.equal(peeked, shifted);
    assert.equal(shifted, this.model.shift());
  }

  /** A group that waits is answered: its caller has gone, or its time is over. */
  drop(at: number): void {
    const group = this.model[at % Math.max(1, this.model.length)];
    if (group === undefined) return;
    this.queue.drop(group as unknown as QueuedCall);
    this.model.splice(this.model.indexOf(group), 1);
  }

  check(): void {
    assert.equal(
      this.queue.size,
      this.model.reduce((sum, { waiting }) => sum + waiting, 0),
    );
    assert.equal(
      this.queue.workUs,
      this.model.reduce((sum, group) => sum + group.expectedUs, 0),
    );
    const listed = this.queue.all;
    assert.deepEqual(
      (listed as unknown as FakeUnit[]).map(({ name }) => name),
      this.model.map(({ name }) => name),
    );
    assert.equal(this.queue.peek(), this.model[0]);
  }
}

const action = fc.record({
  what: fc.constantFrom('push', 'push', 'push', 'shift', 'shift', 'drop'),
  n: fc.integer({ min: 1, max: 50 }),
});

function run(pair: Pair, { what, n }: { what: string; n: number }): void {
  if (what === 'push') pair.push(n);
  else if (what === 'shift') pair.shift();
  else pair.drop(n);
}

test('the queue is an array that grows at its end', () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
      const pair = new Pair();
      for (const one of actions) {
        run(pair, one);
        pair.check();
      }
      while (pair.model.length > 0) pair.shift();
      pair.check();
      assert.equal(pair.queue.shift(), undefined);
    }),
    { seed, numRuns: 1000 },
  );
});
