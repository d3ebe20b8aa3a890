import { awaitVerdict } from '../dispatch/await-verdict.ts';
import type { DeadlineSweep } from '../dispatch/deadline.ts';
import { tooManyInFlight } from '../dispatch/limit.ts';
import type { CallObserver } from '../dispatch/observer.ts';
import type { CallerGate } from '../dispatch/quota/caller-gate.ts';
import { type GoesToSink, goesToSink, type ReplySink } from '../dispatch/reply-sink.ts';
import type { RequestScope } from '../dispatch/scope.ts';
import type { Outcome, Reply } from '../jsonrpc/reply.ts';
import type { BodyRequest, ServiceRequest } from './request.ts';
import type { Serving } from './serving.ts';

export interface AdmissionOptions {
  /** Most requests in flight. */
  readonly maxInFlight: number;
  readonly serving: Serving;
  readonly observer: CallObserver;
  readonly deadlines: DeadlineSweep;
  /** undefined: callers are not told apart. */
  readonly gate: CallerGate | undefined;
  /** Told of each request that is refused for what all callers have in flight. */
  readonly onThrottled: (scope: RequestScope, cause: 'full') => void;
}

/** Decides for each request whether it runs, and counts the requests in flight. */
export class Admission {
  readonly #options: AdmissionOptions;

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  /**
   * Runs the request, or refuses it: where too many are in flight, or where the verdict on its caller is a refusal.
   */
  enter(request: ServiceRequest): Reply | Promise<Reply> {
    const { gate, onThrottled } = this.#options;
    const { scope } = request;
    if (this.#isFull) {
      onThrottled(scope, 'full');
      return this.#refuse(request, tooManyInFlight());
    }
    const verdict = gate === undefined ? scope.verdict : gate.verdictOf(scope);
    if (verdict === undefined) return this.#run(request);
    const reply = this.#runBehind(verdict, request);
    return gate === undefined ? reply : gate.hold(scope, reply);
  }

  /** As `enter`. The reply may go to the sink where nothing but the calls is waited for. */
  enterInto(request: BodyRequest, sink: ReplySink): Reply | Promise<Reply> | GoesToSink {
    const { serving, gate } = this.#options;
    const loaded = serving.current;
    const isPlain = gate === undefined && request.scope.verdict === undefined;
    if (!isPlain || loaded === undefined || this.#isFull) return this.enter(request);
    const reply = request.runInto(sink, loaded);
    return reply === goesToSink ? reply : loaded.track(reply);
  }

  get #isFull(): boolean {
    const { maxInFlight, serving } = this.#options;
    return serving.inFlight >= maxInFlight;
  }

  #runBehind(
    verdict: NonNullable<RequestScope['verdict']>,
    request: ServiceRequest,
  ): Reply | Promise<Reply> {
    const settled = (refusal: Outcome | undefined): Reply | Promise<Reply> =>
      refusal === undefined ? this.#run(request) : this.#refuse(request, refusal);
    const refusal = awaitVerdict(request.scope, verdict, this.#options.deadlines);
    if (!(refusal instanceof Promise)) return settled(refusal);
    request.keep();
    const reply = refusal.then(settled);
    // A request that waits for its verdict counts as in flight. After the line above, so that the handling counts the
    // request before this count of it ends: no gap between the two.
    void this.#options.serving.current?.track(refusal);
    return reply;
  }

  /** Counts the request with the loaded service that runs it. */
  #run(request: ServiceRequest): Reply | Promise<Reply> {
    const loaded = this.#options.serving.current;
    const reply = request.run();
    return loaded === undefined ? reply : loaded.track(reply);
  }

  #refuse(request: ServiceRequest, refusal: Outcome): Reply {
    this.#options.observer.onRefused(refusal.code, undefined, undefined, request.scope);
    return request.refuse(refusal);
  }
}
