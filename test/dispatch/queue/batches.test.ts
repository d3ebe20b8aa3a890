import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Call } from '../../../src/core/dispatch/call.ts';
import type { QueuedCall } from '../../../src/core/dispatch/queue/queued-call.ts';
import { Router } from '../../../src/index.ts';
import { replyOf } from '../../replies.ts';
import { seed } from '../../seed.ts';
import { callOf, SimulatedExecutor, scopeOf } from './simulated.ts';

const router = new Router();
const max = 4;
router.rpc({ name: 'a', batch: { max } }, (params) => params.map(() => 1));
router.rpc({ name: 'b', batch: { max } }, (params) => params.map(() => 1));
router.rpc({ name: 'single' }, () => 1);

/** An executor whose one worker runs what the test says, and that keeps what it ran. */
class Simulated extends SimulatedExecutor {
  readonly runs: (readonly QueuedCall[])[] = [];
  /** Procedures that may not run now. */
  readonly held = new Set<string>();
  #room = 0;
  readonly inFlight = 0;

  /** So many runs find a worker. */
  run(count: number): void {
    this.#room = count;
    this.send();
  }

  protected send(): void {
    this.resumeProcedures(({ procedure }) => !this.held.has(procedure.name));
    while (this.#room > 0) {
      const { short, long } = this.heads();
      const head = short ?? long;
      if (head === undefined) return;
      if (this.held.has(head.procedure.name)) {
        assert.ok(head.rules !== undefined, 'only a batch procedure is held');
        this.setAside(head);
        continue;
      }
      this.#room--;
      if (head.rules === undefined) {
        this.take(head, 0);
        this.runs.push([head]);
      } else this.runs.push(this.takeTogether(head, { calls: 3, us: 1e9 }, () => 0));
      for (const item of this.runs.at(-1) ?? []) this.#end(item);
    }
  }

  /** The worker has run a call. */
  #end(item: QueuedCall): void {
    item.sendTo({ send: () => 'sent', withdraw: () => false, cancel: () => {} });
    item.answer('{}', 0, 1);
  }
}

type Step =
  | { readonly add: string; readonly caller: number; readonly leaves: boolean }
  | { readonly run: number }
  | { readonly hold: string }
  | { readonly release: string };

const procedures = fc.constantFrom('a', 'b', 'single');
const batched = fc.constantFrom('a', 'b');
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ add: procedures, caller: fc.nat({ max: 2 }), leaves: fc.boolean() }),
    },
    { weight: 2, arbitrary: fc.record({ run: fc.integer({ min: 1, max: 4 }) }) },
    { weight: 1, arbitrary: fc.record({ hold: batched }) },
    { weight: 1, arbitrary: fc.record({ release: batched }) },
  ),
  { maxLength: 60 },
);

test('whatever waits, leaves and is held: each call leaves once, in runs of one procedure within the bounds, in the order of its caller', async () => {
  const property = fc.asyncProperty(steps, async (plan) => {
    const executor = new Simulated(1000);
    const made: { readonly call: Call; readonly reply: Promise<unknown> }[] = [];
    const left = new Set<Call>();
    for (const step of plan) {
      if ('run' in step) executor.run(step.run);
      else if ('hold' in step) executor.held.add(step.hold);
      else if ('release' in step) executor.held.delete(step.release);
      else {
        const call = callOf(router, step.add, `${made.length}`, scopeOf(`caller ${step.caller}`));
        made.push({ call, reply: replyOf(executor, call) });
        // A caller who leaves later than others have run.
        const earlier = made[made.length - 3];
        if (step.leaves && earlier !== undefined) {
          const isThere = !executor.runs.flat().some(({ call: ran }) => ran === earlier.call);
          if (isThere) left.add(earlier.call);
          earlier.call.scope.cancel();
        }
      }
    }
    executor.held.clear();
    executor.run(1000);
    assert.equal(executor.left, 0);
    const ran = executor.runs.flat().map(({ call }) => call);
    const wanted = made.map(({ call }) => call).filter((call) => !left.has(call));
    assert.deepEqual(new Set(ran), new Set(wanted));
    assert.equal(ran.length, wanted.length);
    for (const run of executor.runs) {
      assert.equal(new Set(run.map(({ procedure }) => procedure.name)).size, 1);
      assert.ok(run.length <= 3 && (run.length === 1 || run[0]?.rules !== undefined));
    }
    for (const name of ['a', 'b', 'single']) {
      for (const key of new Set(wanted.map(({ scope }) => scope.callerKey))) {
        const isOf = ({ procedure, scope }: Call): boolean =>
          procedure.name === name && scope.callerKey === key;
        assert.deepEqual(
          ran.filter(isOf).map(({ id }) => id),
          wanted.filter(isOf).map(({ id }) => id),
        );
      }
    }
    await Promise.all(made.map(({ reply }) => reply));
  });
  await fc.assert(property, { seed, numRuns: 200 });
});
