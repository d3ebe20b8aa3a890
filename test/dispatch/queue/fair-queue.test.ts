import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { CallGroup } from '../../../src/dispatch/queue/call-group.ts';
import { FairQueue, quantumUs } from '../../../src/dispatch/queue/fair-queue.ts';

/** What the queue sees of a group. */
interface FakeGroup {
  readonly key: string;
  readonly number: number;
  readonly waiting: number;
  readonly expectedUs: number;
  readonly waitingSince: number;
  queue: unknown;
}

const asGroup = (group: FakeGroup): CallGroup => group as unknown as CallGroup;
const asFake = (group: CallGroup | undefined): FakeGroup | undefined =>
  group as unknown as FakeGroup | undefined;
const keyOf = (group: CallGroup): string => asFake(group)?.key ?? '';

let made = 0;
function groupOf(key: string, expectedUs = 100, waiting = 1): FakeGroup {
  made++;
  return { key, number: made, waiting, expectedUs, waitingSince: made, queue: undefined };
}

function pushed(queue: FairQueue, key: string, count: number, expectedUs: number): FakeGroup[] {
  const groups = Array.from({ length: count }, () => groupOf(key, expectedUs));
  for (const group of groups) queue.push(asGroup(group));
  return groups;
}

/** The keys in the order in which their groups go. */
function drained(queue: FairQueue, count = Number.POSITIVE_INFINITY): string[] {
  const keys: string[] = [];
  for (let i = 0; i < count; i++) {
    const group = asFake(queue.shift());
    if (group === undefined) break;
    keys.push(group.key);
  }
  return keys;
}

describe('the fair queue', () => {
  test('a polite caller waits for a quantum of the greedy one, not for all it has queued', () => {
    const queue = new FairQueue(keyOf);
    pushed(queue, 'greedy', 200, 10_000);
    pushed(queue, 'polite', 1, 2000);
    // Two turns bring it what its call takes; the greedy one is given no call meanwhile.
    assert.deepEqual(drained(queue, 1), ['polite']);
    pushed(queue, 'polite', 1, 2000);
    assert.ok(drained(queue, 2).includes('polite'));
  });

  test('equal callers take turns', () => {
    const queue = new FairQueue(keyOf);
    for (const key of ['a', 'b', 'c']) pushed(queue, key, 2, quantumUs);
    assert.equal(drained(queue).join(''), 'abcabc');
  });

  test('short groups share a turn, a long one is saved up for', () => {
    const queue = new FairQueue(keyOf);
    pushed(queue, 'long', 2, 3 * quantumUs);
    pushed(queue, 'short', 8, quantumUs / 2);
    // The long one has its first quantum; each turn of the other brings two of its groups.
    assert.equal(
      drained(queue)
        .map((key) => key[0])
        .join(''),
      'sssslssssl',
    );
  });

  test('weights are shares, held within bounds, and no number is the usual one', () => {
    const weights: Record<string, number> = {
      gold: 3,
      none: 0,
      endless: Number.POSITIVE_INFINITY,
      wrong: Number.NaN,
    };
    const queue = new FairQueue(keyOf, (key) => weights[key] ?? 1);
    for (const key of ['plain', 'gold']) pushed(queue, key, 400, quantumUs);
    const keys = drained(queue, 400);
    assert.equal(keys.filter((key) => key === 'gold').length, 300);
    const odd = new FairQueue(keyOf, (key) => weights[key] ?? 1);
    for (const key of ['none', 'endless', 'wrong', 'plain']) pushed(odd, key, 200, quantumUs);
    const first = drained(odd, 340);
    for (const key of ['none', 'endless', 'wrong', 'plain']) assert.ok(first.includes(key), key);
  });

  test('what comes back goes ahead of everything, the last one first', () => {
    const queue = new FairQueue(keyOf);
    pushed(queue, 'a', 2, 100);
    const [one, two] = [groupOf('b'), groupOf('c')];
    queue.pushFront(asGroup(one));
    queue.pushFront(asGroup(two));
    assert.equal(queue.keys, 1);
    assert.deepEqual(drained(queue), ['c', 'b', 'a', 'a']);
  });

  test('who is refused is the newest of the key that has the most calls', () => {
    const queue = new FairQueue(keyOf);
    assert.equal(queue.newestOfLongest(), undefined);
    const returned = groupOf('back');
    queue.pushFront(asGroup(returned));
    assert.equal(asFake(queue.newestOfLongest()), returned);
    pushed(queue, 'polite', 3, 100);
    const batch = groupOf('batches', 100, 64);
    queue.push(asGroup(batch));
    const greedy = pushed(queue, 'greedy', 66, 100);
    for (const group of greedy.toReversed().slice(0, 2)) {
      assert.equal(asFake(queue.newestOfLongest()), group);
      queue.drop(asGroup(group));
    }
    assert.equal(asFake(queue.newestOfLongest()), batch);
  });

  test('a wait is that of the key by its share, and no longer than all that waits', () => {
    const queue = new FairQueue(keyOf, (key) => (key === 'gold' ? 3 : 1));
    const [, newest] = pushed(queue, 'gold', 2, 6000);
    assert.equal(queue.waitUsOf(asGroup(newest as FakeGroup)), 12_000);
    const [other] = pushed(queue, 'plain', 1, 1000);
    assert.equal(queue.waitUsOf(asGroup(newest as FakeGroup)), 13_000);
    assert.equal(queue.waitUsOf(asGroup(other as FakeGroup)), 4000);
    assert.equal(queue.waitUsOf(asGroup(groupOf('gold'))), 0);
  });

  test('nothing is looked at for long: a thousand keys of groups that take minutes', () => {
    const queue = new FairQueue(keyOf, () => 0);
    for (let i = 0; i < 1000; i++) pushed(queue, `key ${i}`, 1, 600_000_000);
    assert.equal(new Set(drained(queue)).size, 1000);
  });
});

/** As it is written in the paper: turn by turn, nothing skipped, each queue a plain list. */
class Model {
  lines: { key: string; groups: FakeGroup[]; deficit: number }[] = [];
  returned: FakeGroup[] = [];
  turn = 0;

  push(group: FakeGroup): void {
    const line = this.lines.find(({ key }) => key === group.key);
    if (line !== undefined) {
      line.groups.push(group);
      return;
    }
    const fresh = { key: group.key, groups: [group], deficit: 0 };
    if (this.lines.length === 0) {
      this.lines = [{ ...fresh, deficit: quantumUs }];
      this.turn = 0;
    } else {
      // Behind all others: before the one whose turn it is.
      this.lines.splice(this.turn, 0, fresh);
      this.turn++;
    }
  }

  peek(): FakeGroup | undefined {
    if (this.returned[0] !== undefined) return this.returned[0];
    if (this.lines.length === 0) return undefined;
    for (;;) {
      const line = this.lines[this.turn % this.lines.length];
      const first = line?.groups[0];
      if (line === undefined || first === undefined) return undefined;
      if (first.expectedUs <= line.deficit) return first;
      this.turn = (this.turn + 1) % this.lines.length;
      const next = this.lines[this.turn];
      if (next !== undefined) next.deficit += quantumUs;
    }
  }

  shift(): FakeGroup | undefined {
    const group = this.peek();
    if (group === undefined) return undefined;
    const line = this.lines[this.turn];
    if (this.returned[0] === undefined && line !== undefined) line.deficit -= group.expectedUs;
    this.remove(group);
    return group;
  }

  remove(group: FakeGroup): void {
    if (this.returned.includes(group)) {
      this.returned.splice(this.returned.indexOf(group), 1);
      return;
    }
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
    return [...this.returned, ...this.lines.flatMap(({ groups }) => groups)];
  }
}

const action = fc.record({
  what: fc.constantFrom('push', 'push', 'push', 'pushFront', 'shift', 'shift', 'drop', 'refuse'),
  key: fc.nat(6),
  us: fc.integer({ min: 1, max: 20_000 }),
  calls: fc.integer({ min: 1, max: 64 }),
});
type Action = typeof action extends fc.Arbitrary<infer A> ? A : never;

class Pair {
  readonly queue = new FairQueue(keyOf);
  readonly model = new Model();

  act({ what, key, us, calls }: Action): void {
    const group = groupOf(`key ${key}`, us, calls);
    const victim = this.model.all[us % Math.max(1, this.model.all.length)];
    switch (what) {
      case 'push':
        this.queue.push(asGroup(group));
        this.model.push(group);
        break;
      case 'pushFront':
        this.queue.pushFront(asGroup(group));
        this.model.returned.unshift(group);
        break;
      case 'shift':
        assert.equal(asFake(this.queue.peek()), this.model.peek());
        assert.equal(asFake(this.queue.shift()), this.model.shift());
        break;
      case 'drop':
        if (victim !== undefined) this.drop(victim);
        break;
      case 'refuse':
        this.refuse();
        break;
    }
    this.check();
  }

  refuse(): void {
    const newest = asFake(this.queue.newestOfLongest());
    const lengths = this.model.lines.map(({ groups }) => callsOf(groups));
    const line = this.model.lines.find(({ groups }) => groups.at(-1) === newest);
    if (line === undefined) {
      assert.equal(this.model.lines.length, 0);
      assert.equal(newest, this.model.returned.at(-1));
    } else assert.equal(callsOf(line.groups), Math.max(...lengths));
    if (newest !== undefined) this.drop(newest);
  }

  drop(group: FakeGroup): void {
    this.queue.drop(asGroup(group));
    this.model.remove(group);
    assert.equal(group.queue, undefined);
  }

  check(): void {
    const { queue, model } = this;
    const all = model.all;
    assert.equal(queue.size, callsOf(all));
    assert.equal(
      queue.workUs,
      all.reduce((sum, { expectedUs }) => sum + expectedUs, 0),
    );
    // A key lives while it has something queued.
    assert.equal(queue.keys, model.lines.length);
    const shown = [...queue].map((group) => asFake(group));
    assert.equal(shown.length, all.length);
    assert.deepEqual(new Set(shown), new Set(all));
    const since = all.map(({ waitingSince }) => waitingSince);
    assert.equal(queue.oldestSince, since.length === 0 ? undefined : Math.min(...since));
    for (const group of all) assert.equal(group.queue, queue);
  }
}

function callsOf(groups: readonly FakeGroup[]): number {
  return groups.reduce((sum, { waiting }) => sum + waiting, 0);
}

describe('the fair queue, by generated arrivals', () => {
  test('does what the paper says, turn by turn', () => {
    fc.assert(
      fc.property(fc.array(action, { maxLength: 150 }), (actions) => {
        const pair = new Pair();
        for (const each of actions) pair.act(each);
        while (pair.model.all.length > 0) pair.act({ what: 'shift', key: 0, us: 1, calls: 1 });
      }),
      { seed: 13, numRuns: 400 },
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
        const queue = new FairQueue(keyOf, (key) => weights.get(key) ?? 1);
        // Nobody runs out while it is looked.
        for (const [i, { us }] of list.entries()) pushed(queue, `${i}`, count, us);
        const taken = list.map(() => 0);
        const last = list.map(() => 0);
        for (let i = 0; i < count; i++) {
          const group = asFake(queue.shift());
          if (group === undefined) break;
          const at = Number(group.key);
          assert.ok(group.number > (last[at] ?? 0), 'the order within a key');
          last[at] = group.number;
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
      { seed: 14, numRuns: 150 },
    );
  });
});
