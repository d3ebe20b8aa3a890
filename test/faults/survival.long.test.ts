import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { until } from '../turns.ts';
import {
  assertOk,
  assertRanOnce,
  board,
  type Ended,
  type Plan,
  plan,
  plans,
  Service,
} from './plans.ts';
import { randomFrom, seed, shuffle } from './random.ts';

/** A fault, and what its own call may come to. */
interface Fault {
  readonly kind: string;
  readonly outcomes: readonly string[];
  /** Its thread is lost without any call in synchronous code: whose fault it was, nobody can tell. */
  readonly anonymous?: boolean;
}

const lost = (reason: string, kind: string, anonymous = false): Fault => ({
  kind,
  outcomes: [`-32002 ${reason}`],
  anonymous,
});
const internal = (kind: string): Fault => ({ kind, outcomes: ['-32603'] });
const harmless = (kind: string): Fault => ({ kind, outcomes: ['ok'] });
const expired = (kind: string): Fault => ({ kind, outcomes: ['-32001'] });

const faults: readonly Fault[] = [
  expired('loop'),
  expired('regex'),
  expired('spinLater'),
  expired('spinWhenAborted'),
  expired('never'),
  internal('exit'),
  internal('namedExit'),
  internal('exitLater'),
  lost('exit', 'reallyExit'),
  lost('exit', 'reallyExitLater', true),
  lost('memory', 'exhaust'),
  harmless('postToParent'),
  harmless('throwLate'),
  harmless('throwNullLate'),
  harmless('rejectLate'),
  internal('crash'),
  internal('bigint'),
  internal('cycle'),
  internal('getter'),
  internal('revoked'),
  internal('recursion'),
  internal('deep'),
  { kind: 'fail', outcomes: ['1001'] },
  { kind: 'failLater', outcomes: ['1001'] },
];

/** What its neighbours may come to. Calls that wait can't be saved; any other is, or was running. */
function assertNeighbour(ended: Ended, fault: Fault): void {
  const { outcome, plan } = ended;
  const { n, kind } = plan.params;
  const allowed = fault.anonymous ? ['ok', ...fault.outcomes, '-32002 neighbour'] : ['ok'];
  if (kind === 'later') allowed.push('-32002 neighbour');
  assert.ok(allowed.includes(outcome), `a neighbour, ${kind}, of ${fault.kind}: ${outcome}`);
  assert.equal(board.runs(n), 1, `executions of a neighbour, ${kind}, of ${fault.kind}`);
}

/** Only what is to be ended by it meets the short deadline: no verdict is left to the clock. */
function planOf({ kind, outcomes }: Fault): Plan {
  return plan(kind, { method: outcomes.includes('-32001') ? 'act' : 'heavy' });
}

function goodOnes(): Plan[] {
  return [
    ...plans(24),
    ...plans(6, 'later', { method: 'heavy' }),
    ...plans(10, 'echo', { method: 'heavy' }),
  ];
}

describe(`each fault among good calls (FAULT_SEED=${seed})`, () => {
  const random = randomFrom(seed);
  const service = Service.suite({
    workers: 2,
    spareWorkers: 1,
    workerMemoryMb: 64,
    // No code holds a thread for longer, whether a call is in it or not.
    timeoutMs: 2000,
    maxQueueMs: 60_000,
  });

  for (const fault of faults) {
    test(`${fault.kind}: one answer for every id, nothing crosses, what had not started runs once, and the server goes on`, async () => {
      await service.whole();
      await service.learn('act', 'long', 'heavy');
      const hostile = planOf(fault);
      const batch = [
        plan(),
        plan('later', { method: 'heavy' }),
        planOf(fault),
        ...plans(3),
        plan('fail'),
      ];
      const silent = plans(4, 'echo', { notify: true });
      // All of it in one turn, so that it leaves in as few frames as may be.
      const sent: Promise<Ended[]>[] = shuffle(random, [
        ...[...goodOnes(), ...silent].map((one) => [one]),
        [hostile],
        batch,
      ]).map(async (request) =>
        request.length === 1 ? [await service.send(request[0] as Plan)] : service.batch(request),
      );
      const answers = (await Promise.all(sent)).flat();
      const hostiles = [hostile, batch[2]];
      const isHostile = ({ plan }: Ended): boolean => hostiles.includes(plan);
      const own = answers.filter(isHostile);
      assert.equal(own.length, 2);
      for (const { outcome, plan } of own) {
        // Two of them may share a thread: the one that waits is then the other's neighbour.
        assert.ok([...fault.outcomes, '-32002 neighbour'].includes(outcome), outcome);
        assert.equal(board.runs(plan.params.n), 1, `executions of ${fault.kind}`);
      }
      for (const ended of answers) {
        if (isHostile(ended) || ended.outcome === 'none') continue;
        if (ended.plan.params.kind === 'fail') assert.equal(board.runs(ended.plan.params.n), 1);
        else assertNeighbour(ended, fault);
      }
      await until(() => silent.every(({ params }) => board.runs(params.n) === 1));
      // A call that waits for good keeps its place on its thread, and nothing else does.
      await until(() => service.pool.workers.every(({ inFlight }) => inFlight <= 2));
      assert.equal(service.pool.queued, 0, 'calls still count as waiting');
      const next = plans(20);
      assertOk(await service.sendAll(next));
      assertRanOnce(next);
    });
  }

  test('late errors are written to the log, with their stacks', () => {
    const late = service.lines.filter(({ message }) => message.includes('outside of any call'));
    for (const text of ['thrown late', 'rejected late', 'cannot be described|no Error']) {
      assert.ok(
        late.some(({ fields }) => new RegExp(text).test(String(fields.detail))),
        text,
      );
    }
  });
});
