import { noOverloads, type Overload } from '../base/overloads.ts';
import { noPlace, type Place } from '../base/place.ts';
import type { Config } from '../config/config.ts';
import { type Call, type CallObserver, neverRan, type Timing } from '../dispatch/call.ts';
import type { RequestScope } from '../dispatch/scope.ts';
import { CallCounters } from '../observe/call-counters.ts';
import { accessLog, type CallEvent, callAll, type OnCall, rounded } from '../observe/call-event.ts';
import { Episode } from '../observe/episode.ts';
import type { Log } from '../observe/log.ts';
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
  /** Calls and whole requests that were refused because there were too many. */
  shed = 0;
  /** The same by what refused them, with the streams that were refused. */
  readonly refused = noOverloads();
  streams = 0;
  /** Those among them that ended with an error, without those that were left or drained. */
  failedStreams = 0;
  streamValues = 0;
  reloads = 0;
  failedReloads = 0;
  readonly #onOverloaded: (overload: Overload, scope: RequestScope) => void;
  readonly #tell: ((event: CallEvent) => void) | undefined;
  readonly #onRun: ((scope: RequestScope, us: number) => void) | undefined;
  readonly #shedding: Episode;
  /** undefined: streams are not logged. */
  readonly #streamLog: Log | undefined;

  /**
   * @param onRun called with how long each call was in its handler, microseconds
   * @param onOverloaded told of each call and request that is refused because there is too much
   */
  constructor(
    config: Pick<Config, 'metrics' | 'accessLog' | 'tracing'>,
    log: Log,
    onCall: readonly OnCall[],
    onRun: ((scope: RequestScope, us: number) => void) | undefined,
    onOverloaded: (overload: Overload, scope: RequestScope) => void,
  ) {
    const { metrics, accessLog: logsCalls, tracing } = config;
    this.#onRun = onRun;
    this.#onOverloaded = onOverloaded;
    this.counters = metrics ? new CallCounters() : undefined;
    this.#streamLog = logsCalls ? log : undefined;
    const observers = logsCalls ? [...onCall, accessLog(log)] : onCall;
    this.#tell = observers.length === 0 ? undefined : callAll(observers, log);
    const wantsEach = tracing || onRun !== undefined || this.#tell !== undefined;
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
    reply: Reply,
  ): void {
    this.counters?.record(call.procedure.name, code, place, waitUs, runUs);
    call.scope.watcher?.onCallEnd(code, runUs);
    // Only a call that never ran was refused: a procedure may throw the same code itself.
    if (code === ErrorCode.Overloaded && runUs === neverRan) this.#noteShed();
    // A call that has opened a stream goes on: its span ends with the stream.
    if (call.sink !== undefined && code === 0) call.trace?.opened(place, waitUs, runUs);
    else call.trace?.end(code, place, waitUs, runUs);
    this.#onRun?.(call.scope, runUs);
    if (this.#tell === undefined) return;
    const { id, procedure, scope, trace } = call;
    const ref = code === ErrorCode.InternalError ? refIn(reply) : undefined;
    const traceparent = trace === undefined ? scope.traceparent : trace.traceparent;
    this.#tell(eventOf(procedure.name, id, code, place, waitUs, runUs, ref, traceparent, scope));
  }

  onStreamEnd(
    call: Call,
    code: number,
    place: Place,
    values: number,
    characters: number,
    ms: number,
  ): void {
    this.streams++;
    if (code !== 0 && code !== ErrorCode.Cancelled) this.failedStreams++;
    this.streamValues += values;
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
    this.refused[overload]++;
    this.#onOverloaded(overload, scope);
  }

  onRefused(
    code: number,
    method: string | undefined,
    id: string | undefined,
    scope: RequestScope,
  ): void {
    const label = code === ErrorCode.MethodNotFound ? unknownMethod : noMethod;
    this.counters?.recordRefused(label, code);
    scope.watcher?.onCallEnd(code, neverRan);
    if (code === ErrorCode.Overloaded) this.#noteShed();
    if (this.#tell === undefined) return;
    const { traceparent } = scope;
    this.#tell(eventOf(method, id, code, noPlace, 0, neverRan, undefined, traceparent, scope));
  }

  close(): void {
    this.#shedding.close();
  }

  #noteShed(): void {
    this.shed++;
    this.#shedding.note();
  }
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
