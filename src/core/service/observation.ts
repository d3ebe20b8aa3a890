import type { Overload } from '../base/overloads.ts';
import { noPlace, type Place } from '../base/place.ts';
import type { Config } from '../config/config.ts';
import {
  type AffinityOutcome,
  type Call,
  type CallObserver,
  neverRan,
  notTimed,
  type Timing,
} from '../dispatch/call.ts';
import type { RequestScope } from '../dispatch/scope.ts';
import { accessLog, type CallEvent, callAll, type OnCall, rounded } from '../observe/call-event.ts';
import { Episode } from '../observe/episode.ts';
import type { Log } from '../observe/log.ts';
import { counterTable, zeroCounts } from '../observe/metric-table.ts';
import { batchBounds, type CallTotals, Histogram } from '../observe/snapshot.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { Reply } from '../protocol/reply.ts';

/** Labels of calls that have no procedure. No procedure's name has parentheses. */
const unknownMethod = '(unknown)';
const noMethod = '(none)';

/** Refusals less than this apart belong to one overload. */
const shedQuietMs = 5000;

/** What a service notes about its calls: counters, access log, spans, and the calls of the operator's observers. */
export class Observation implements CallObserver {
  readonly timing: Timing;
  readonly counters: CallCounters | undefined;
  /** What has happened in this process; what its workers did, each group counts for itself. */
  readonly counts = zeroCounts(counterTable);
  readonly #onOverloaded: (overload: Overload, scope: RequestScope) => void;
  readonly #tell: ((event: CallEvent) => void) | undefined;
  readonly #onRun: ((scope: RequestScope, us: number) => void) | undefined;
  /** Infinity: no call is slow. */
  readonly #slowUs: number;
  readonly #log: Log;
  readonly #shedding: Episode;
  /** undefined: streams are not logged. */
  readonly #streamLog: Log | undefined;

  /**
   * @param onRun called with how long each call was in its handler, microseconds
   * @param onOverloaded told of each call and request that is refused because there is too much
   */
  constructor(
    config: Pick<Config, 'metrics' | 'accessLog' | 'slowCallMs' | 'tracing'>,
    log: Log,
    onCall: readonly OnCall[],
    onRun: ((scope: RequestScope, us: number) => void) | undefined,
    onOverloaded: (overload: Overload, scope: RequestScope) => void,
  ) {
    const { metrics, accessLog: logsCalls, slowCallMs, tracing } = config;
    this.#log = log;
    this.#slowUs = slowCallMs === 0 ? Number.POSITIVE_INFINITY : slowCallMs * 1000;
    this.#onRun = onRun;
    this.#onOverloaded = onOverloaded;
    this.counters = metrics ? new CallCounters() : undefined;
    this.#streamLog = logsCalls ? log : undefined;
    const observers = logsCalls ? [...onCall, accessLog(log)] : onCall;
    this.#tell = observers.length === 0 ? undefined : callAll(observers, log);
    const wantsEach = tracing || onRun !== undefined || this.#tell !== undefined || slowCallMs > 0;
    this.timing = wantsEach ? 'all' : metrics ? 'sampled' : 'none';
    this.#shedding = new Episode(shedQuietMs, {
      begins: () => log.warn({ event: 'shed-begins' }, 'calls are refused: there are too many'),
      ends: ({ count, ms }) =>
        log.warn({ event: 'shed-ends', count, ms }, 'no call is refused any more'),
    });
  }

  onCall(
    call: Call,
    code: number,
    place: Place,
    waitUs: number,
    runUs: number,
    busyUs: number,
    reply: Reply,
    together: number,
  ): void {
    this.counters?.record(call.procedure.name, code, place, waitUs, runUs, busyUs);
    noteEnding(call.scope, code, runUs);
    // Only a call that never ran was refused: a procedure may throw the same code itself.
    if (code === ErrorCode.Overloaded && runUs === neverRan) this.#noteShed();
    // A call that has opened a stream goes on: its span ends with the stream.
    if (call.sink !== undefined && code === 0) call.trace?.opened(place, waitUs, runUs);
    else call.trace?.end(code, place, waitUs, runUs);
    this.#onRun?.(call.scope, runUs);
    const isSlow = waitUs + runUs >= this.#slowUs && call.sink === undefined;
    if (this.#tell === undefined && !isSlow) return;
    const { id, procedure, scope, trace } = call;
    const ref = code === ErrorCode.InternalError ? refIn(reply) : undefined;
    const traceparent = trace === undefined ? scope.traceparent : trace.traceparent;
    const { name } = procedure;
    const event = eventOf(name, id, code, place, waitUs, runUs, ref, traceparent, scope, together);
    this.#tell?.(event);
    if (isSlow) this.#logSlow(event, busyUs);
  }

  onHandlerBatch(procedure: string, place: Place, calls: number): void {
    this.counters?.recordBatch(procedure, place, calls);
  }

  onAffinity(procedure: string, place: Place, outcome: AffinityOutcome, waitMs: number): void {
    this.counters?.recordAffinity(procedure, place, outcome, waitMs);
  }

  #logSlow(
    { waitMs, runMs, ref, remoteAddress, traceparent, ...call }: CallEvent,
    busyUs: number,
  ): void {
    const ms = rounded(waitMs + (runMs ?? 0));
    const [ran, busy] = runMs === undefined ? [] : [rounded(runMs), rounded(busyUs / 1000)];
    const times = { ms, waitMs: rounded(waitMs), runMs: ran, busyMs: busy };
    const facts = { ref, remoteAddress, traceparent };
    this.#log.warn({ event: 'call-slow', ...call, ...times, ...facts }, 'a call was slow');
  }

  onStreamEnd(
    call: Call,
    code: number,
    place: Place,
    values: number,
    characters: number,
    ms: number,
  ): void {
    this.counts.streams++;
    if (code !== 0 && code !== ErrorCode.Cancelled) this.counts.failedStreams++;
    this.counts.streamValues += values;
    call.trace?.streamEnded(code, values);
    const { procedure, id, scope, trace } = call;
    this.#streamLog?.info(
      {
        event: 'stream',
        method: procedure.name,
        id: idValue(id),
        code,
        place,
        values,
        characters,
        remoteAddress: scope.remoteAddress,
        traceparent: trace === undefined ? scope.traceparent : trace.traceparent,
        ms: rounded(ms),
      },
      'stream',
    );
  }

  onOverloaded(overload: Overload, scope: RequestScope): void {
    this.counts[overload]++;
    this.#onOverloaded(overload, scope);
  }

  onRefused(
    code: number,
    method: string | undefined,
    id: string | undefined,
    scope: RequestScope,
  ): void {
    const label = code === ErrorCode.MethodNotFound ? unknownMethod : noMethod;
    this.counters?.record(label, code, noPlace, 0, neverRan);
    noteEnding(scope, code, neverRan);
    if (code === ErrorCode.Overloaded) this.#noteShed();
    if (this.#tell === undefined) return;
    const { traceparent } = scope;
    this.#tell(eventOf(method, id, code, noPlace, 0, neverRan, undefined, traceparent, scope, 0));
  }

  close(): void {
    this.#shedding.close();
  }

  #noteShed(): void {
    this.counts.shed++;
    this.#shedding.note();
  }
}

function noteEnding({ ending }: RequestScope, code: number, runUs: number): void {
  if (ending === undefined) return;
  ending.code = code;
  ending.runUs = runUs;
}

function eventOf(
  method: string | undefined,
  id: string | undefined,
  code: number,
  place: Place,
  waitUs: number,
  runUs: number,
  ref: string | undefined,
  traceparent: string | undefined,
  scope: RequestScope,
  together: number,
): CallEvent {
  return Object.freeze({
    method,
    id: idValue(id),
    code,
    place,
    waitMs: waitUs / 1000,
    runMs: runUs === neverRan ? undefined : runUs / 1000,
    ref,
    remoteAddress: scope.remoteAddress,
    traceparent,
    ...(together > 0 && { handlerBatch: together }),
  });
}

/** @param id JSON text */
function idValue(id: string | undefined): string | number | null | undefined {
  return id === undefined ? undefined : (JSON.parse(id) as string | number | null);
}

/** The ref in a -32603; undefined if a procedure threw that code itself with data of its own. */
function refIn(reply: Reply): string | undefined {
  // A -32603 with a ref is short. Of bytes only the ref is wanted, which is ASCII.
  const text = typeof reply === 'string' ? reply : reply && Buffer.from(reply).toString('latin1');
  return /"data":\{"ref":"([0-9a-f-]{13})"(?:,"message":".*")?\}\}\}$/s.exec(text ?? '')?.[1];
}

/** Most error codes that are counted apart for one procedure, which may throw any code. All others count as one. */
const maxCodes = 32;

const otherCodes = 'other';

/**
 * Most procedures with times of their own, in each place: the first that are called. The two histograms of one
 * procedure are 5 KB of /metrics.
 */
const maxTimed = 150;

/** The label of the times of all other procedures. No procedure's name has parentheses. */
const otherProcedures = '(others)';

class CodeCounter {
  #results = 0;
  readonly #errors = new Map<number | string, number>();

  record(code: number): void {
    if (code === 0) {
      this.#results++;
      return;
    }
    const isKnown = this.#errors.has(code) || this.#errors.size < maxCodes;
    const key = isKnown ? code : otherCodes;
    this.#errors.set(key, (this.#errors.get(key) ?? 0) + 1);
  }

  totals(): Record<string, number> {
    const codes: Record<string, number> = Object.fromEntries(this.#errors);
    if (this.#results > 0) codes['0'] = this.#results;
    return codes;
  }
}

type Times = Pick<CallTotals, 'wait' | 'duration' | 'busy'>;

/** The times of the calls of one procedure in one place. */
class CallTimes {
  readonly #wait = new Histogram();
  readonly #duration = new Histogram();
  /** Calls that did not wait, and are not in `#wait` yet: one record for each is enough, since such calls may be short. */
  #prompt = 0;
  /** Inline calls since the last timed call. */
  #untimed = 0;
  /** What the last timed call took, and for how long it held its thread, microseconds. */
  #lastUs = 0;
  #lastBusyUs = 0;
  /** For how long all calls held their threads, microseconds. */
  #busyUs = 0;

  /**
   * @param runUs microseconds, `neverRan` or `notTimed`: it ran inline without a wait
   * @param busyUs microseconds of a call that ran and was timed
   */
  record(waitUs: number, runUs: number, busyUs: number): void {
    if (runUs === notTimed) {
      this.#untimed++;
    } else if (runUs === neverRan) {
      this.#wait.record(waitUs);
      this.#duration.record(waitUs);
    } else if (waitUs > 0) {
      // Each call that waits is timed.
      this.#wait.record(waitUs);
      this.#duration.record(waitUs + runUs);
      this.#busyUs += busyUs;
    } else {
      // A timed call also counts for the untimed calls before it. Which calls are timed does not depend on what they take.
      this.#recordPrompt(this.#untimed + 1, runUs, busyUs);
      this.#untimed = 0;
      this.#lastUs = runUs;
      this.#lastBusyUs = busyUs;
    }
  }

  totals(): Times {
    if (this.#untimed > 0) this.#recordPrompt(this.#untimed, this.#lastUs, this.#lastBusyUs);
    this.#untimed = 0;
    this.#wait.record(0, this.#prompt);
    this.#prompt = 0;
    return {
      wait: this.#wait.totals(),
      duration: this.#duration.totals(),
      busy: this.#busyUs / 1e6,
    };
  }

  #recordPrompt(calls: number, runUs: number, busyUs: number): void {
    this.#duration.record(runUs, calls);
    this.#prompt += calls;
    this.#busyUs += busyUs * calls;
  }
}

const noTimes: Times = new CallTimes().totals();

interface ProcedureCounter {
  readonly codes: CodeCounter;
  /** The procedure's own times, or those that all procedures of the place past the limit share. undefined: it has no place. */
  readonly times: CallTimes | undefined;
  /** Made with the first run of a batch handler. */
  batches: Histogram | undefined;
  /** Made with the first call that has affinity. */
  affinity: AffinityCounter | undefined;
}

interface AffinityCounter {
  readonly calls: Partial<Record<AffinityOutcome, number>>;
  readonly waitSeconds: Partial<Record<AffinityOutcome, number>>;
}

interface PlaceCounters {
  readonly procedures: Map<string, ProcedureCounter>;
  /** Made with the first procedure past the limit. */
  others: CallTimes | undefined;
}

/** Counts calls by procedure and place. A reload keeps the counts: a name that was called once is a series for ever. */
export class CallCounters {
  readonly #places = new Map<Place, PlaceCounters>();

  /**
   * Counts a call that has ended in a place, whichever places there are.
   *
   * @param procedure or a label for all unknown methods
   * @param runUs microseconds, `neverRan` or `notTimed`
   * @param busyUs see {@link CallObserver.onCall}
   */
  record(
    procedure: string,
    code: number,
    place: Place,
    waitUs: number,
    runUs: number,
    busyUs = 0,
  ): void {
    const { codes, times } = this.#of(procedure, place);
    codes.record(code);
    times?.record(waitUs, runUs, busyUs);
  }

  /** Counts a run of a batch handler, which took so many calls at once. */
  recordBatch(procedure: string, place: Place, calls: number): void {
    const counter = this.#of(procedure, place);
    counter.batches ??= new Histogram(Float64Array.from(batchBounds), 1);
    counter.batches.record(calls);
  }

  recordAffinity(procedure: string, place: Place, outcome: AffinityOutcome, waitMs: number): void {
    const counter = this.#of(procedure, place);
    counter.affinity ??= { calls: {}, waitSeconds: {} };
    const { calls, waitSeconds } = counter.affinity;
    calls[outcome] = (calls[outcome] ?? 0) + 1;
    waitSeconds[outcome] = (waitSeconds[outcome] ?? 0) + waitMs / 1000;
  }

  totals(): CallTotals[] {
    return [...this.rows()];
  }

  /** The same, row by row, for who must not hold the thread. Rows that come meanwhile may be among them. */
  *rows(): Generator<CallTotals, void, undefined> {
    for (const [place, { procedures, others }] of this.#places) {
      for (const [procedure, { codes, times, batches, affinity }] of procedures) {
        const own = times === undefined || times === others ? noTimes : times.totals();
        const together = batches && { batches: batches.totals() };
        const seated = affinity && { affinity: structuredClone(affinity) };
        yield { procedure, place, codes: codes.totals(), ...own, ...together, ...seated };
      }
      if (others !== undefined)
        yield { procedure: otherProcedures, place, codes: {}, ...others.totals() };
    }
  }

  #of(procedure: string, place: Place): ProcedureCounter {
    let counters = this.#places.get(place);
    if (counters === undefined) {
      counters = { procedures: new Map(), others: undefined };
      this.#places.set(place, counters);
    }
    const known = counters.procedures.get(procedure);
    if (known !== undefined) return known;
    const hasOwn = counters.procedures.size < maxTimed;
    if (!hasOwn && place !== noPlace) counters.others ??= new CallTimes();
    const counter: ProcedureCounter = {
      codes: new CodeCounter(),
      times: place === noPlace ? undefined : hasOwn ? new CallTimes() : counters.others,
      batches: undefined,
      affinity: undefined,
    };
    counters.procedures.set(procedure, counter);
    return counter;
  }
}
