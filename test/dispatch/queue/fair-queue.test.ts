import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  FairQueue,
  QueuedCallers,
  quantumUs,
  type WaitingPlace,
} from '../../../src/core/dispatch/queue/fair-queue.ts';
import type { QueuedCall } from '../../../src/core/dispatch/queue/queued-call.ts';
import type { RequestScope } from '../../../src/core/dispatch/scope.ts';
import { seed } from '../../seed.ts';

/** What the queue sees of a group. */
interface FakeGroup {
  readonly scope: { readonly key: string };
  readonly waiting: number;
  /** All of it, and what it sends at its turn. */
  readonly expectedUs: number;
  readonly nextUs: number;
  /** Of what it was sent before, what did not run. */
  readonly returnedUs: number;
  readonly isReturned: boolean;
  readonly arrivedAt: number;
  queue: WaitingPlace | undefined;
}

const asGroup = (group: FakeGroup): QueuedCall => group as unknown as QueuedCall;
const asFake = (group: QueuedCall | undefined): FakeGroup | undefined =>
  group as unknown as FakeGroup | undefined;
const keyOf = (scope: RequestScope): string => (scope as unknown as FakeGroup['scope']).key;

let made = 0;
function groupOf(key: string, us = 100, facts: Partial<FakeGroup> = {}): FakeGroup {
  const arrivedAt = made++;
  const costs = { expectedUs: us, nextUs: us, returnedUs: 0, isReturned: false };
  return { scope: { key }, waiting: 1, ...costs, arrivedAt, queue: undefined, ...facts };
}

function dropped(group: FakeGroup | undefined): void {
  if (group !== undefined) group.queue?.drop(asGroup(group));
}

function callersOf(weightOf: (key: string) => number = () => 1): QueuedCallers<QueuedCall> {
  return new QueuedCallers({ keyOf, weightOf: (scope) => weightOf(keyOf(scope)) });
}

function pushed(queue: FairQueue<QueuedCall>, key: string, count: number, us: number): FakeGroup[] {
  const groups = Array.from({ length: count }, () => groupOf(key, us));
  for (const group of groups) queue.push(asGroup(group));
  return groups;
}

/** The keys in the order in which their groups go. */
function drained(queue: FairQueue<QueuedCall>, count = Number.POSITIVE_INFINITY): string[] {
  const keys: string[] = [];
  for (let i = 0; i < count; i++) {
    const group = asFake(queue.shift());
    if (group === undefined) break;
    keys.push(group.scope.key);
  }
  return keys;
}

describe('the fair queue', () => {
  test('a polite caller waits for a quantum of the greedy one, not for all it has queued', () => {
    const queue = new FairQueue(callersOf());
    pushed(queue, 'greedy', 200, 10_000);
    pushed(queue, 'polite', 1, 2000);
    // Two turns bring it what its call takes; the greedy one is given no call meanwhile.
    assert.deepEqual(drained(queue, 1), ['polite']);
    pushed(queue, 'polite', 1, 2000);
    assert.ok(drained(queue, 2).includes('polite'));
  });

  test('equal callers take turns', () => {
    const queue = new FairQueue(callersOf());
    for (const key of ['a', 'b', 'c']) pushed(queue, key, 2, quantumUs);
    assert.equal(drained(queue).join(''), 'abcabc');
  });

  test('a caller pays for what its streams took, 50 ms for each call at most, and never if it waits alone', () => {
    const callers = callersOf();
    const queue = new FairQueue(callers);
    const scope = { key: 'streaming' } as never;
    const charge = (us: number) => callers.charge(scope, us);
    pushed(queue, 'streaming', 2, quantumUs);
    charge(20 * quantumUs);
    pushed(queue, 'other', 200, quantumUs);
    assert.equal(drained(queue, 2).filter((key) => key === 'streaming').length, 1);
    charge(20 * quantumUs);
    const between = drained(queue, 30).indexOf('streaming');
    assert.ok(between >= 19 && between <= 21, `after ${between} others`);
    pushed(queue, 'streaming', 2, quantumUs);
    for (let i = 0; i < 1000; i++) charge(20 * quantumUs);
    assert.ok(drained(queue, 52).includes('streaming'));
  });

  test('short groups share a turn, a long one is saved up for', () => {
    const queue = new FairQueue(callersOf());
    pushed(queue, 'l', 2, 3 * quantumUs);
    pushed(queue, 's', 8, quantumUs / 2);
    // The long one has its first quantum; each turn of the other brings two of its groups.
    assert.equal(drained(queue).join(''), 'sssslssssl');
  });

  test('weights are shares, held within bounds, and no number is the usual one', () => {
    const weights: Record<string, number> = {
      gold: 3,
      none: 0,
      endless: Number.POSITIVE_INFINITY,
      wrong: Number.NaN,
    };
    const weightOf = (key: string) => weights[key] ?? 1;
    const queue = new FairQueue(callersOf(weightOf));
    for (const key of ['plain', 'gold']) pushed(queue, key, 400, quantumUs);
    const keys = drained(queue, 400);
    assert.equal(keys.filter((key) => key === 'gold').length, 300);
    const odd = new FairQueue(callersOf(weightOf));
    for (const key of ['none', 'endless', 'wrong', 'plain']) pushed(odd, key, 200, quantumUs);
    const first = drained(odd, 340);
    for (const key of ['none', 'endless', 'wrong', 'plain']) assert.ok(first.includes(key), key);
  });

  test('what comes back stands where it stood, by its age, and others do not wait for it', () => {
    const queue = new FairQueue(callersOf());
    const [a1, a2] = pushed(queue, 'a', 2, quantumUs) as [FakeGroup, FakeGroup];
    assert.equal(asFake(queue.shift()), a1);
    const [b1, b2] = pushed(queue, 'b', 2, quantumUs) as [FakeGroup, FakeGroup];
    const [a3] = pushed(queue, 'a', 1, quantumUs) as [FakeGroup];
    queue.push(asGroup(a1));
    const order = Array.from({ length: 5 }, () => asFake(queue.shift()));
    assert.deepEqual(order, [b1, a1, b2, a2, a3]);
  });

  test('what was paid for and did not run is given back', () => {
    const queue = new FairQueue(callersOf());
    pushed(queue, 'b', 8, quantumUs);
    const paid = { ...groupOf('a', 5 * quantumUs), returnedUs: 5 * quantumUs };
    queue.push(asGroup(paid));
    assert.equal(drained(queue).join(''), 'babbbbbbb');
  });

  test('a batch pays for each portion, and others go in between', () => {
    const queue = new FairQueue(callersOf());
    pushed(queue, 'b', 3, quantumUs);
    // All of it takes a second.
    const batch = groupOf('a', 1_000_000, { nextUs: quantumUs, waiting: 1000 });
    const order: string[] = [];
    queue.push(asGroup(batch));
    for (let n = 0; n < 6; n++) {
      const group = asFake(queue.shift()) as FakeGroup;
      order.push(group.scope.key);
      if (group === batch) queue.push(asGroup(batch));
    }
    assert.equal(order.join(''), 'bababa');
  });

  test('nothing is looked at for long: a thousand callers with groups that take minutes', () => {
    const queue = new FairQueue(callersOf(() => 0));
    for (let i = 0; i < 1000; i++) pushed(queue, `key ${i}`, 1, 600_000_000);
    assert.equal(new Set(drained(queue)).size, 1000);
  });
});

describe('the accounts of callers', () => {
  test('who is refused is the newest of the caller that has the most calls, in whatever queues', () => {
    const callers = callersOf();
    const [one, other] = [new FairQueue(callers), new FairQueue(callers)];
    assert.equal(callers.newestOfLongest(), undefined);
    const refused = (): FakeGroup | undefined => asFake(callers.newestOfLongest());
    pushed(one, 'polite', 50, 100);
    const batch = groupOf('batches', 100, { waiting: 64 });
    one.push(asGroup(batch));
    // No queue holds most of its calls.
    const spread = [...pushed(one, 'greedy', 33, 100), ...pushed(other, 'greedy', 33, 100)];
    for (const group of spread.toReversed().slice(0, 2)) {
      assert.equal(refused(), group);
      dropped(group);
    }
    assert.equal(refused(), batch);
    dropped(batch);
    assert.equal(refused(), spread[63]);
    for (const queue of [one, other]) drained(queue);
    assert.deepEqual([callers.size, callers.calls, callers.workUs], [0, 0, 0]);
    assert.equal(refused(), undefined);
  });

  test('what a worker gave back is refused for nobody, and counts for none', () => {
    const callers = callersOf();
    const queue = new FairQueue(callers);
    const [newest] = pushed(queue, 'polite', 1, 100);
    const returned = Array.from({ length: 3 }, () => groupOf('greedy', 100, { isReturned: true }));
    for (const group of returned) queue.push(asGroup(group));
    assert.deepEqual([callers.calls, callers.returned], [4, 3]);
    assert.equal(asFake(callers.newestOfLongest()), newest);
    dropped(newest);
    assert.equal(callers.newestOfLongest(), undefined);
    assert.equal(drained(queue).length, 3);
    assert.deepEqual([callers.size, callers.calls, callers.returned], [0, 0, 0]);
  });

  test('a wait is that of the caller by its share, and no longer than all that waits', () => {
    const callers = callersOf((key) => (key === 'gold' ? 3 : 1));
    const queue = new FairQueue(callers);
    const [, newest] = pushed(queue, 'gold', 2, 6000) as [FakeGroup, FakeGroup];
    assert.equal(callers.waitUsOf(asGroup(newest)), 12_000);
    const [other] = pushed(new FairQueue(callers), 'plain', 1, 1000) as [FakeGroup];
    assert.equal(callers.waitUsOf(asGroup(newest)), 13_000);
    assert.equal(callers.waitUsOf(asGroup(other)), 4000);
    assert.equal(callers.waitUsOf(asGroup(groupOf('nobody'))), 13_000);
  });
});

/** As it is written in the paper: turn by turn, nothing skipped, each line a plain list. */
class Model {
  lines: { key: string; groups: FakeGroup[]; deficit: number }[] = [];
  turn = 0;

  push(group: FakeGroup): void {
    const { key } = group.scope;
    let line = this.lines.find((other) => other.key === key);
    if (line === undefined) {
      line = { key, groups: [], deficit: 0 };
      if (this.lines.length === 0) {
        line.deficit = quantumUs;
        this.lines = [line];
        this.turn = 0;
      } else {
        // Behind all others: before the one whose turn it is.
        this.lines.splice(this.turn, 0, line);
        this.turn++;
      }
    }
    line.deficit += group.returnedUs;
    line.groups.push(group);
    line.groups.sort((a, b) => a.arrivedAt - b.arrivedAt);
  }

  peek(): FakeGroup | undefined {
    if (this.lines.length === 0) return undefined;
    for (;;) {
      const line = this.lines[this.turn % this.lines.length];
      const first = line?.groups[0];
      if (line === undefined || first === undefined) return undefined;
      if (first.nextUs <= line.deficit) return first;
      this.turn = (this.turn + 1) % this.lines.length;
      const next = this.lines[this.turn];
      if (next !== undefined) next.deficit += quantumUs;
    }
  }

  shift(): FakeGroup | undefined {
    const group = this.peek();
    if (group === undefined) return undefined;
    const line = this.lines[this.turn];
    if (line !== undefined) line.deficit -= group.nextUs;
    this.remove(group);
    return group;
  }

  remove(group: FakeGroup): void {
    const at = this.lines.findIndex(({ groups }) => groups.includes(group));
    const line = this.lines[at];
    if (line === undefined) return;
    line.groups.splice(line.groups.indexOf(group), 1);
    if (line.groups.length > 0) return;
    this.lines.splice(at, 1);
    if (at < this.turn) this.turn--;
    else if (at === this.turn && this.lines.length > 0) {
      this.turn %= this.lines.length;
      const next = this.lines[this.turn];
      if (next !== undefined) next.deficit += quantumUs;
    }
  }

  get all(): FakeGroup[] {
    return this.lines.flatMap(({ groups }) => groups);
  }
}

const action = fc.record({
  what: fc.constantFrom('push', 'push', 'push', 'return', 'shift', 'shift', 'drop', 'refuse'),
  key: fc.nat(6),
  us: fc.integer({ min: 1, max: 20_000 }),
  calls: fc.integer({ min: 1, max: 64 }),
});
type Action = typeof action extends fc.Arbitrary<infer A> ? A : never;

class Pair {
  readonly callers = callersOf();
  readonly queue = new FairQueue(this.callers);
  readonly model = new Model();
  readonly #gone: FakeGroup[] = [];

  act({ what, key, us, calls }: Action): void {
    switch (what) {
      case 'push':
        this.push(groupOf(`key ${key}`, us, { waiting: calls, nextUs: Math.ceil(us / calls) }));
        break;
      case 'return':
        this.return(us);
        break;
      case 'shift':
        this.shift();
        break;
      case 'drop':
        this.drop(this.model.all[us % Math.max(1, this.model.all.length)]);
        break;
      case 'refuse':
        this.refuse();
        break;
    }
    this.check();
  }

  push(group: FakeGroup): void {
    this.queue.push(asGroup(group));
    this.model.push(group);
  }

  /** One that was sent comes back: some of what was paid for did not run. */
  return(us: number): void {
    const [group] = this.#gone.splice(us % Math.max(1, this.#gone.length), 1);
    if (group === undefined) return;
    this.push({ ...group, returnedUs: Math.min(us, group.nextUs), isReturned: true });
  }

  shift(): void {
    assert.equal(asFake(this.queue.peek()), this.model.peek());
    const group = asFake(this.queue.shift());
    assert.equal(group, this.model.shift());
    if (group !== undefined) this.#gone.push(group);
  }

  refuse(): void {
    const newest = asFake(this.callers.newestOfLongest());
    const lines = this.model.lines.map(({ groups }) => groups.filter((one) => !one.isReturned));
    const line = lines.find((groups) => groups.at(-1) === newest) ?? [];
    assert.equal(callsOf(line), Math.max(0, ...lines.map(callsOf)));
    this.drop(newest);
  }

  drop(group: FakeGroup | undefined): void {
    if (group === undefined) return;
    dropped(group);
    this.model.remove(group);
    assert.equal(group.queue, undefined);
  }

  check(): void {
    const { queue, callers, model } = this;
    const { all } = model;
    assert.equal(queue.size, callsOf(all));
    assert.equal(callers.calls, queue.size);
    assert.equal(callers.returned, callsOf(all.filter(({ isReturned }) => isReturned)));
    assert.equal(
      callers.workUs,
      all.reduce((sum, { expectedUs }) => sum + expectedUs, 0),
    );
    // A caller lives while it has something queued.
    assert.equal(callers.size, model.lines.length);
    const shown = queue.all.map((group) => asFake(group));
    assert.equal(shown.length, all.length);
    assert.deepEqual(new Set(shown), new Set(all));
    assert.ok(all.every((group) => group.queue !== undefined));
  }
}

function callsOf(groups: readonly FakeGroup[]): number {
  return groups.reduce((sum, { waiting }) => sum + waiting, 0);
}

describe('the fair queue, by generated arrivals', () => {
  test('does what the paper says, turn by turn', () => {
    fc.assert(
      fc.property(fc.array(action, { maxLength: 150, size: 'max' }), (actions) => {
        const pair = new Pair();
        for (const each of actions) pair.act(each);
        while (pair.model.all.length > 0) pair.act({ what: 'shift', key: 0, us: 1, calls: 1 });
      }),
      { seed, numRuns: 400 },
    );
  });

  test('shares are those of the weights within one quantum and one group, and keep their order', () => {
    const callers = fc.array(
      fc.record({ weight: fc.integer({ min: 1, max: 8 }), us: fc.integer({ min: 1, max: 9000 }) }),
      { minLength: 2, maxLength: 6 },
    );
    fc.assert(
      fc.property(callers, fc.integer({ min: 1, max: 400 }), (list, count) => {
        const weights = new Map(list.map(({ weight }, i) => [`${i}`, weight]));
        const queue = new FairQueue(callersOf((key) => weights.get(key) ?? 1));
        // Nobody runs out while it is looked.
        for (const [i, { us }] of list.entries()) pushed(queue, `${i}`, count, us);
        const taken = list.map(() => 0);
        const last = list.map(() => -1);
        for (let i = 0; i < count; i++) {
          const group = asFake(queue.shift());
          if (group === undefined) break;
          const at = Number(group.scope.key);
          assert.ok(group.arrivedAt > (last[at] ?? 0), 'the order within a key');
          last[at] = group.arrivedAt;
          taken[at] = (taken[at] ?? 0) + group.expectedUs;
          for (const [j, one] of list.entries()) {
            for (const [k, other] of list.entries()) {
              // In rounds of a quantum: nobody is ahead of anybody by more than one round and what was saved up for a group.
              const rounds = (n: number, { weight }: typeof one) =>
                (taken[n] ?? 0) / weight / quantumUs;
              const slack =
                2 + one.us / one.weight / quantumUs + other.us / other.weight / quantumUs;
              assert.ok(Math.abs(rounds(j, one) - rounds(k, other)) <= slack);
            }
          }
        }
      }),
      { seed, numRuns: 150 },
    );
  });
});
