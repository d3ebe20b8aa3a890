import fc from 'fast-check';
import { RequestScope } from '../../../src/core/dispatch/scope.ts';
import { ErrorCode } from '../../../src/core/protocol/errors.ts';
import { seed } from '../../seed.ts';
import { Bench, type Method, type Sent } from './bench.ts';
import { endsOnce, hasEndedOnce } from './expect.ts';
import type { Subject } from './subject.ts';

/** What is done to a call, and the codes it may end with where nothing else interferes. */
interface Kind {
  readonly method: Method;
  readonly code: number;
  /** Its caller has left before it came; leaves while it is there; its time is over, or will soon be. */
  readonly fate?: 'gone' | 'leaves' | 'expired' | 'overdue';
}

const kinds = {
  value: { method: 'value', code: 0 },
  later: { method: 'later', code: 0 },
  refused: { method: 'refused', code: 1234 },
  broken: { method: 'broken', code: ErrorCode.InternalError },
  large: { method: 'large', code: ErrorCode.LimitExceeded },
  hold: { method: 'hold', code: 0 },
  gone: { method: 'value', code: ErrorCode.Cancelled, fate: 'gone' },
  leaves: { method: 'untilAborted', code: 0, fate: 'leaves' },
  expired: { method: 'value', code: ErrorCode.DeadlineExceeded, fate: 'expired' },
  overdue: { method: 'hold', code: ErrorCode.DeadlineExceeded, fate: 'overdue' },
  dies: { method: 'die', code: ErrorCode.WorkerLost },
} as const satisfies Record<string, Kind>;

type KindName = keyof typeof kinds;

interface Planned {
  readonly kind: KindName;
  readonly isNotification: boolean;
  /** It is one request with the call before it. */
  readonly joins: boolean;
}

/** Milliseconds. A thread is stopped that is held up for longer in synchronous code: where there is one, it gets more. */
const overdueMs = { onThread: 60, here: 5 } as const;

/** Of one that is never run: it can only be refused. */
const alone: ReadonlySet<KindName> = new Set(['gone', 'leaves', 'expired', 'overdue', 'dies']);

function plans(names: readonly KindName[]): fc.Arbitrary<Planned[]> {
  const planned = fc.record({
    kind: fc.constantFrom(...names),
    isNotification: fc.boolean(),
    joins: fc.boolean(),
  });
  return fc.array(planned, { minLength: 1, maxLength: 16 });
}

const always: readonly KindName[] = [
  'value',
  'later',
  'refused',
  'broken',
  'large',
  'hold',
  'gone',
  'leaves',
  'expired',
  'overdue',
];

interface Made {
  readonly sent: Sent;
  readonly kind: Kind;
}

/** Calls that are handed over together: one, or several of one request. */
function makeRequests(bench: Bench, planned: readonly Planned[]): Made[][] {
  const takesSeveral = bench.opened.executor.executeInOrder !== undefined;
  const overdue = bench.subject.abilities.stopsThreads ? overdueMs.onThread : overdueMs.here;
  const requests: Made[][] = [];
  let last: KindName | undefined;
  for (const { kind: name, isNotification, joins } of planned) {
    const kind: Kind = kinds[name];
    const before = requests.at(-1);
    const isJoined =
      takesSeveral && joins && last !== undefined && !alone.has(name) && !alone.has(last);
    const scope =
      isJoined && before?.[0] !== undefined
        ? before[0].sent.scope
        : new RequestScope(kind.fate === 'expired' ? { timeoutMs: 0 } : {});
    const timeoutMs = kind.fate === 'overdue' ? { timeoutMs: overdue } : {};
    const made = { sent: bench.make(kind.method, { isNotification, scope, ...timeoutMs }), kind };
    if (isJoined && before !== undefined) before.push(made);
    else requests.push([made]);
    last = name;
  }
  return requests;
}

function handOver(bench: Bench, request: readonly Made[]): void {
  const [first] = request;
  if (first === undefined) return;
  if (first.kind.fate === 'gone') first.sent.scope.cancel();
  const sent = request.map((one) => one.sent);
  if (sent.length > 1) bench.sendInOrder(sent);
  else bench.execute(first.sent);
}

/** Whatever waits for the board or for its caller goes on. */
function letGo(bench: Bench, requests: readonly (readonly Made[])[]): void {
  for (const { sent, kind } of requests.flat()) {
    if (kind.fate === 'leaves') sent.scope.cancel();
    else if (kind.method === 'hold' && kind.fate !== 'overdue') bench.board.release(sent.tag);
  }
}

function codesOf({ sent, kind }: Made): number[] {
  // Nothing goes out for it: nothing is too large.
  if (kind.method === 'large' && sent.call.id === undefined) return [0];
  // It may leave before it has started.
  if (kind.fate === 'leaves') return [kind.code, ErrorCode.Cancelled];
  return [kind.code];
}

/** Hands calls over at once; then what waits is let go, and all must end. */
async function runMix(bench: Bench, planned: readonly Planned[]): Promise<void> {
  const requests = makeRequests(bench, planned);
  // A thread that dies takes those along that wait there.
  const lost = planned.some(({ kind }) => kind === 'dies') ? [ErrorCode.WorkerLost] : [];
  for (const request of requests) handOver(bench, request);
  letGo(bench, requests);
  for (const made of requests.flat()) {
    const isRun = bench.subject.abilities.runs;
    const codes = isRun ? [...codesOf(made), ...lost] : [ErrorCode.Cancelled];
    await endsOnce(bench, made.sent, ...codes);
  }
  for (const { sent, kind } of requests.flat()) {
    if (kind.fate === 'overdue') bench.board.release(sent.tag);
  }
}

/** Calls of all kinds at once. */
export async function mixes(bench: Bench): Promise<void> {
  const property = fc.asyncProperty(plans(always), (planned) => runMix(bench, planned));
  await fc.assert(property, { seed, numRuns: bench.subject.cases.mixes });
}

/** The same, and one of the calls ends its thread. */
export async function deaths(bench: Bench): Promise<void> {
  const death: Planned = { kind: 'dies', isNotification: false, joins: false };
  const property = fc.asyncProperty(plans(always), fc.nat({ max: 15 }), (planned, at) =>
    runMix(bench, planned.toSpliced(at, 0, death)),
  );
  await fc.assert(property, { seed, numRuns: bench.subject.cases.closes });
}

/** The same, and the executor is closed before all have come: at once, or when those that run have ended. */
export async function closesInTheMidst(subject: Subject): Promise<void> {
  const { abilities, cases } = subject;
  const property = fc.asyncProperty(
    plans(always),
    fc.nat({ max: 15 }),
    fc.boolean(),
    async (planned, closesAt, isPatient) => {
      const bench = await Bench.open(subject);
      try {
        const requests = makeRequests(bench, planned);
        for (const request of requests.slice(0, closesAt)) handOver(bench, request);
        const closing = bench.opened.close(isPatient ? 600_000 : 0);
        for (const request of requests.slice(closesAt)) handOver(bench, request);
        if (isPatient) letGo(bench, requests);
        await closing;
        for (const [i, request] of requests.entries()) {
          for (const made of request) {
            const cut = isPatient ? [] : [ErrorCode.WorkerLost, ErrorCode.Cancelled];
            const came = i < closesAt && abilities.runs;
            const codes = came ? [...codesOf(made), ...cut] : [ErrorCode.Cancelled];
            await hasEndedOnce(bench, made.sent, ...codes);
          }
        }
      } finally {
        await bench.end();
      }
    },
  );
  await fc.assert(property, { seed, numRuns: cases.closes });
}
