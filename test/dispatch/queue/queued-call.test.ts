import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Call, type CallObserver, cancelled } from '../../../src/core/dispatch/call.ts';
import type { CallReceiver, QueuedCall } from '../../../src/core/dispatch/queue/queued-call.ts';
import type { RequestScope } from '../../../src/core/dispatch/scope.ts';
import { Router } from '../../../src/index.ts';
import { repliesOf, replyOf } from '../../replies.ts';
import { cases, seed } from '../../seed.ts';
import { callOf, SimulatedExecutor, scopeOf } from './simulated.ts';

const router = new Router();
router.rpc({ name: 'plain' }, () => 1);
router.rpc({ name: 'bounded', maxConcurrency: 1 }, () => 1);
router.rpc({ name: 'elsewhere' }, () => 1);

/** Bytes of all replies of a request. A large reply alone is more. */
const maxReplyBytes = 100;
const large = 'x'.repeat(maxReplyBytes + 1);

/** A worker whose calls begin and end when the test says so. */
class Worker implements CallReceiver {
  readonly items: QueuedCall[] = [];
  readonly started = new Set<QueuedCall>();
  readonly #log: string[];

  constructor(log: string[]) {
    this.#log = log;
  }

  send(item: QueuedCall, follows: boolean): 'sent' {
    assert.equal(follows, item.before !== undefined, 'what follows, follows a call without answer');
    this.items.push(item);
    item.enterWorker();
    return 'sent';
  }

  withdraw(item: QueuedCall): boolean {
    if (!this.items.includes(item) || this.started.has(item)) return false;
    this.#remove(item);
    item.takeBack();
    return true;
  }

  /** The handler of a call whose caller has left goes on until the test ends it. */
  cancel(): void {}

  /** The oldest call begins whose predecessors have ended. */
  start(): void {
    const next = this.items.find((item) => !this.started.has(item) && item.before === undefined);
    if (next === undefined) return;
    this.started.add(next);
    this.#log.push(next.call.id ?? '');
  }

  /** A call that has begun ends. */
  end(reply: string): void {
    const [item] = this.started;
    if (item === undefined) return;
    this.#remove(item);
    item.answer(reply, 0, 1);
  }

  /** A call that has begun is answered, and goes on. The calls after it come back. */
  overrun(): QueuedCall[] {
    const item = [...this.started].find(({ isAnswered }) => !isAnswered);
    if (item === undefined) return [];
    item.refuse(cancelled, 1);
    const { order } = item;
    return order === undefined ? [] : this.giveBack((other) => other.order === order);
  }

  /** Calls that have not begun come back. */
  giveBack(isMeant: (item: QueuedCall) => boolean = () => true): QueuedCall[] {
    return [...this.items].filter((item) => isMeant(item) && this.withdraw(item));
  }

  /** The thread is gone. */
  lose(): QueuedCall[] {
    const back = this.giveBack();
    const lost = this.items.slice();
    for (const item of lost) {
      this.#remove(item);
      item.refuse(cancelled, 1);
    }
    return back;
  }

  #remove(item: QueuedCall): void {
    this.items.splice(this.items.indexOf(item), 1);
    this.started.delete(item);
    item.leaveWorker();
  }
}

class Simulated extends SimulatedExecutor {
  /** The ids of calls that have begun, in this order. */
  readonly log: string[] = [];
  readonly workers = [new Worker(this.log), new Worker(this.log)];

  get inFlight(): number {
    return this.workers.reduce((sum, { items }) => sum + items.length, 0);
  }

  /** Whether anybody serves the procedure `elsewhere`. */
  isServed = true;

  /** One call, with those that go along, to a worker that has room for it. */
  sendOne(to: number): void {
    const mayGo = ({ procedure }: QueuedCall) => this.isServed || procedure.name !== 'elsewhere';
    this.resumeProcedures(mayGo);
    for (;;) {
      const { short, long } = this.heads();
      const head = short ?? long;
      if (head === undefined) return;
      if (mayGo(head)) {
        this.take(head, 0);
        head.sendTo(this.workers[to] as Worker);
        return;
      }
      this.setAside(head);
    }
  }

  lose(at: number): void {
    this.addBack(this.workers[at]?.lose() ?? []);
  }

  overrun(at: number): void {
    this.addBack(this.workers[at]?.overrun() ?? []);
  }

  takeBack(at: number): void {
    this.addBack(this.workers[at]?.giveBack() ?? []);
  }

  expire(): void {
    this.refuseLate(Number.MAX_SAFE_INTEGER);
  }

  protected send(): void {}
}

const at = fc.nat({ max: 1 });
const steps = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        add: fc.array(fc.constantFrom('plain', 'bounded', 'elsewhere'), {
          minLength: 1,
          maxLength: 5,
        }),
        caller: fc.constantFrom('ann', 'bob'),
      }),
    },
    { weight: 6, arbitrary: fc.record({ send: at }) },
    { weight: 8, arbitrary: fc.record({ start: at }) },
    { weight: 6, arbitrary: fc.record({ end: at, isLarge: fc.nat({ max: 9 }) }) },
    { weight: 1, arbitrary: fc.record({ takeBack: at }) },
    { weight: 2, arbitrary: fc.record({ lose: at }) },
    { weight: 2, arbitrary: fc.record({ overrun: at }) },
    { weight: 4, arbitrary: fc.record({ leave: fc.nat({ max: 20 }) }) },
    { weight: 1, arbitrary: fc.constant({ expire: true }) },
    { weight: 3, arbitrary: fc.record({ isServed: fc.boolean() }) },
  ),
  { maxLength: 80, size: 'max' },
);

/** A call is given the place of another one, and its caller leaves before it goes: the next call has the place. */
const calledOff: typeof steps extends fc.Arbitrary<infer Steps> ? Steps : never = [
  { add: ['bounded'], caller: 'ann' },
  { add: ['bounded'], caller: 'ann' },
  { add: ['bounded'], caller: 'ann' },
  { send: 0 },
  { send: 0 },
  { start: 0 },
  { end: 0, isLarge: 1 },
  { leave: 1 },
];

test('whatever comes in between: one answer and one report a call, no call begins twice, none overtakes another of its batch', async () => {
  const property = fc.asyncProperty(steps, async (plan) => {
    const reports = new Map<string, number>();
    const observer: CallObserver = {
      timing: 'none',
      onCall: ({ id = '' }) => reports.set(id, (reports.get(id) ?? 0) + 1),
      onRefused: () => assert.fail('nothing is refused before it is a call'),
    };
    const executor = new Simulated(maxReplyBytes, observer);
    const batches: { ids: string[]; scope: RequestScope; replies: Promise<unknown> }[] = [];
    const counts = new Map<number, number>();
    const bounded = new Set<string>();
    let made = 0;
    const add = (names: readonly string[], callerKey: string): void => {
      const scope = scopeOf(callerKey);
      const calls = names.map((name) => {
        const id = `${made++}`;
        if (name === 'bounded') bounded.add(id);
        return callOf(router, name, id, scope);
      });
      const [first] = calls as [Call];
      const answered = calls.length === 1 ? replyOf(executor, first) : repliesOf(executor, calls);
      const index = batches.length;
      const replies = Promise.resolve(answered).then((reply) => {
        counts.set(index, (counts.get(index) ?? 0) + 1);
        assert.equal(Array.isArray(reply) ? reply.length : 1, calls.length);
      });
      batches.push({ ids: calls.map(({ id }) => id ?? ''), scope, replies });
    };
    for (const step of plan) {
      if ('add' in step) add(step.add, step.caller);
      else if ('send' in step) executor.sendOne(step.send);
      else if ('start' in step) executor.workers[step.start]?.start();
      else if ('end' in step) executor.workers[step.end]?.end(step.isLarge === 0 ? large : '{}');
      else if ('takeBack' in step) executor.takeBack(step.takeBack);
      else if ('lose' in step) executor.lose(step.lose);
      else if ('overrun' in step) executor.overrun(step.overrun);
      else if ('leave' in step) batches[step.leave]?.scope.cancel();
      else if ('isServed' in step) executor.isServed = step.isServed;
      else executor.expire();
      const inside = executor.workers
        .flatMap(({ items }) => items)
        .filter(({ call }) => bounded.has(call.id ?? ''));
      assert.ok(inside.length <= 1, 'maxConcurrency holds');
    }
    executor.isServed = true;
    const finish = (): void => {
      for (let round = 0; executor.left + executor.inFlight > 0; round++) {
        assert.ok(round < 1000, `${executor.left} wait, ${executor.inFlight} are sent`);
        executor.sendOne(round % 2);
        for (const worker of executor.workers) {
          worker.start();
          worker.end('{}');
        }
      }
    };
    finish();
    // The last one finds a place, if all places are given back.
    add(['bounded'], 'ann');
    finish();
    await Promise.all(batches.map(({ replies }) => replies));
    assert.deepEqual(
      [...counts.values()],
      batches.map(() => 1),
    );
    assert.equal(reports.size, made);
    assert.ok([...reports.values()].every((count) => count === 1));
    assert.equal(new Set(executor.log).size, executor.log.length, 'no call begins twice');
    for (const { ids } of batches) {
      const began = executor.log.filter((id) => ids.includes(id));
      assert.deepEqual(
        began,
        ids.filter((id) => began.includes(id)),
        'in the order of the batch',
      );
    }
  });
  await fc.assert(property, { seed, numRuns: cases(200), examples: [[calledOff]] });
});

test('of thousands of calls that have waited too long one look answers 500: others get a turn', async () => {
  let reports = 0;
  const observer: CallObserver = {
    timing: 'none',
    onCall: () => reports++,
    onRefused: () => assert.fail('nothing is refused before it is a call'),
  };
  const executor = new Simulated(maxReplyBytes, observer);
  const replies = Array.from({ length: 1200 }, (_, n) =>
    replyOf(executor, callOf(router, 'plain', `${n}`, scopeOf(`caller ${n % 50}`))),
  );
  const left = [1, 2, 3, 4].map(() => {
    executor.expire();
    return executor.left;
  });
  assert.deepEqual(left, [700, 200, 0, 0]);
  await Promise.all(replies);
  assert.equal(reports, 1200);
});
