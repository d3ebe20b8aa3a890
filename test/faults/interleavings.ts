import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Lifetime } from '../harness.ts';
import { ModuleFolder } from '../modules/module-folder.ts';
import { turn, until } from '../turns.ts';
import { board, type Ended, fixture, type Plan, plan, Service } from './plans.ts';

/** Random interleavings against a model that knows, for each kind of call, what it may come to. */

interface Kind {
  readonly kind: string;
  readonly methods: readonly string[];
  /** What it comes to when nothing interferes. */
  readonly outcome: string;
  /** It waits on its thread, and is lost with it. */
  readonly waits?: boolean;
}

const kinds: readonly Kind[] = [
  { kind: 'echo', methods: ['long', 'heavy', 'one', 'in.long'], outcome: 'ok' },
  { kind: 'slow', methods: ['long', 'one'], outcome: 'ok' },
  { kind: 'later', methods: ['long', 'one', 'two', 'in.long'], outcome: 'ok', waits: true },
  { kind: 'fail', methods: ['long', 'one', 'in.long'], outcome: '1001' },
  { kind: 'failLater', methods: ['long', 'in.long'], outcome: '1001', waits: true },
  { kind: 'crash', methods: ['long', 'in.long'], outcome: '-32603' },
  { kind: 'bigint', methods: ['long', 'in.long'], outcome: '-32603' },
  { kind: 'never', methods: ['act', 'oneShort', 'in.act'], outcome: '-32001', waits: true },
  { kind: 'exit', methods: ['long'], outcome: '-32603' },
  { kind: 'throwLate', methods: ['long'], outcome: 'ok' },
];

const killing: readonly Kind[] = [
  { kind: 'loop', methods: ['act', 'oneShort'], outcome: '-32001' },
  { kind: 'reallyExit', methods: ['long', 'one'], outcome: '-32002 exit' },
];

interface Step {
  readonly calls: readonly {
    readonly kind: Kind;
    readonly method: string;
    readonly notify: boolean;
  }[];
  readonly isBatch: boolean;
  /** Turns of the event loop until the caller goes; undefined: it stays. */
  readonly cancelAfter: number | undefined;
  /** Turns until the next step. */
  readonly pause: number;
  readonly reload: boolean;
}

function callOf(from: readonly Kind[]) {
  return fc.constantFrom(...from).chain((kind) =>
    fc.record({
      kind: fc.constant(kind),
      method: fc.constantFrom(...kind.methods),
      notify: fc.boolean().map((yes) => yes && kind.outcome === 'ok'),
    }),
  );
}

const call = fc.oneof(
  { weight: 30, arbitrary: callOf(kinds) },
  { weight: 1, arbitrary: callOf(killing) },
);

const step: fc.Arbitrary<Step> = fc.record({
  calls: fc.array(call, { minLength: 1, maxLength: 8 }),
  isBatch: fc.boolean(),
  cancelAfter: fc.option(fc.nat({ max: 6 }), { nil: undefined, freq: 4 }),
  pause: fc.nat({ max: 3 }),
  reload: fc.nat({ max: 40 }).map((n) => n === 0),
});

const steps = fc.array(step, { minLength: 5, maxLength: 20 });

interface Context {
  /** The caller went before the answer came. */
  readonly cancelled: boolean;
  /** The service was closed meanwhile. */
  readonly closing: boolean;
}

/** What the model allows. */
function allowed({ kind, outcome, waits }: Kind, { cancelled, closing }: Context): string[] {
  const all = [outcome];
  if (waits === true) all.push('-32002 neighbour');
  // A thread that dies between calls, with a call that had begun there.
  if (waits === true) all.push('-32002 exit');
  if (cancelled || closing) all.push('-32003');
  if (closing) all.push('-32002 shutdown', '-32002 neighbour');
  // Told to end, it may still come to its own end first.
  if (cancelled && kind === 'never') all.push('ok');
  return all;
}

/** How often it may have run, given what it came to. */
function allowedRuns(outcome: string): readonly number[] {
  if (outcome === '-32003') return [0];
  if (outcome === 'ok' || outcome === '1001' || outcome === '-32603') return [1];
  // A notification tells nothing, and what was stopped may have been just about to begin.
  return [0, 1];
}

interface Sent {
  readonly plan: Plan;
  readonly kind: Kind;
}

async function runStep(
  service: Service,
  { calls, isBatch, cancelAfter }: Step,
): Promise<[Sent[], boolean, Ended[]]> {
  const sent = calls.map(({ kind, method, notify }) => ({
    kind,
    plan: plan(kind.kind, { method, notify }),
  }));
  const all = sent.map(({ plan }) => plan);
  const caller = new AbortController();
  const { signal } = caller;
  const answers = isBatch ? service.batch(all, { signal }) : service.sendAll(all, { signal });
  if (cancelAfter !== undefined) {
    for (let i = 0; i < cancelAfter; i++) await turn();
    caller.abort();
  }
  return [sent, cancelAfter !== undefined, await answers];
}

/** Runs the steps, one beginning while those before it still run, and checks every answer. */
async function check(
  service: Service,
  script: readonly Step[],
  renew: () => void,
  closeAt: number | undefined,
): Promise<void> {
  const results: Promise<[Step, boolean, [Sent[], boolean, Ended[]]]>[] = [];
  const reloads: Promise<unknown>[] = [];
  let closing: Promise<void> | undefined;
  for (const [i, one] of script.entries()) {
    if (i === closeAt) closing = service.dispatcher.close(i % 2 === 0 ? 0 : 5000);
    if (one.reload && closing === undefined) {
      renew();
      reloads.push(
        service.dispatcher
          .reload()
          .catch((error: Error) => assert.match(error.message, /closed|nothing to reload/)),
      );
    }
    results.push(runStep(service, one).then((result) => [one, closeAt !== undefined, result]));
    for (let turns = 0; turns < one.pause; turns++) await turn();
  }
  for (const [{ isBatch }, isClosed, [sent, cancelled, ended]] of await Promise.all(results)) {
    const answered = sent.filter(({ plan }) => plan.id !== undefined);
    const given = ended.filter(({ plan }) => plan.id !== undefined);
    assert.equal(given.length, answered.length, 'exactly one answer for every id');
    for (const [n, { outcome, plan }] of given.entries()) {
      const { kind } = answered[n] as Sent;
      const may = allowed(kind, { cancelled, closing: isClosed });
      assert.ok(may.includes(outcome), `${kind.kind} by ${plan.method}: ${outcome}`);
      const runs = board.runs(plan.params.n);
      assert.ok(
        allowedRuns(outcome).includes(runs),
        `${kind.kind}: ${outcome}, executions: ${runs}`,
      );
    }
    for (const { plan } of sent) assert.ok(board.runs(plan.params.n) <= 1, 'a call ran twice');
    if (isBatch) {
      const orders = sent
        .map(({ plan }) => board.order(plan.params.n))
        .filter((order) => order > 0);
      assert.deepEqual(
        orders,
        orders.toSorted((a, b) => a - b),
        'order within a batch',
      );
    }
  }
  await Promise.all(reloads);
  await closing;
}

/** The usual procedures, so that a reload finds another generation of them. */
const moduleOf = (t: Lifetime) =>
  new ModuleFolder(t).writeRenewable(
    `export { default } from ${JSON.stringify(fixture('procedures.ts'))};`,
  );

export type Property = fc.IAsyncProperty<unknown[]>;

/** On one service, which is whole again behind each run. */
export async function interleavings(t: Lifetime): Promise<Property> {
  const { module, renew } = moduleOf(t);
  const service = await Service.start(t, {
    modules: [module],
    workers: 2,
    spareWorkers: 1,
    maxQueueMs: 60_000,
  });
  await service.learn('act', 'long', 'one');
  return fc.asyncProperty(steps, async (script) => {
    await check(service, script, renew, undefined);
    await service.whole();
    await until(() => service.dispatcher.stats().inFlight === 0);
    assert.equal(service.pool.queued, 0);
  }) as unknown as Property;
}

/** Each on a service of its own, with a close() at some point. */
export function interleavingsWithClose(t: Lifetime): Property {
  const { module, renew } = moduleOf(t);
  return fc.asyncProperty(steps, fc.nat({ max: 19 }), async (script, at) => {
    const service = new Service({ modules: [module], workers: 2, maxQueueMs: 60_000 });
    await service.dispatcher.ready();
    await check(service, script, renew, Math.min(at, script.length - 1));
    await service.dispatcher.close(0);
  }) as unknown as Property;
}
