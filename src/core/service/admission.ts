import { overloadedOutcome } from '../dispatch/call.ts';
import { awaitVerdict } from '../dispatch/deadline.ts';
import type { Kernel } from '../dispatch/kernel.ts';
import { refuseBody, refusePayload } from '../dispatch/kernel.ts';
import type { CallerLimiter } from '../dispatch/rate-limit.ts';
import type { RequestScope } from '../dispatch/scope.ts';
import { keepBody } from '../protocol/body.ts';
import type { Outcome, Reply, ReplySink } from '../protocol/reply.ts';
import type { ServiceContext } from './context.ts';
import type { Deployment } from './deployment.ts';
import type { Deployments } from './deployments.ts';

/** One JSON-RPC request or batch. It runs, or is refused as a whole. Its reply passes here, and ends what counts it. */
export class ServiceRequest implements ReplySink {
  readonly scope: RequestScope;
  /** Text, or its UTF-8 bytes; undefined: a program in this process sent `payload`, the request parsed already. */
  body: string | Uint8Array | undefined;
  readonly payload: unknown;
  /** Who counts the request until its reply. */
  deployment: Deployment | undefined;
  limiter: CallerLimiter | undefined;
  isAnswered = false;
  readonly #sink: ReplySink;

  constructor(
    scope: RequestScope,
    sink: ReplySink,
    body: string | Uint8Array | undefined,
    payload?: unknown,
  ) {
    this.scope = scope;
    this.#sink = sink;
    this.body = body;
    this.payload = payload;
  }

  onReply(reply: Reply): void {
    this.isAnswered = true;
    this.deployment?.leave();
    this.scope.leaveFlight();
    this.limiter?.leave(this.scope);
    this.#sink.onReply(reply);
  }

  /** Copies what the caller lent only until `handle` returns, since the request has to wait. */
  keep(): void {
    if (this.body !== undefined) this.body = keepBody(this.body);
  }
}

/**
 * Decides for each request whether it runs. A request whose reply is not there at once has a place among the requests in
 * flight, until it has its reply or its caller has gone. What still runs for nobody is bounded elsewhere.
 */
export class Admission {
  readonly #context: ServiceContext;
  readonly #deployments: Deployments;
  readonly #kernel: Kernel;

  constructor(context: ServiceContext, deployments: Deployments, kernel: Kernel) {
    this.#context = context;
    this.#deployments = deployments;
    this.#kernel = kernel;
  }

  /** Runs the request, or refuses it: too many are in flight, or the verdict on its caller is a refusal. */
  enter(request: ServiceRequest): void {
    const { gate, observation } = this.#context;
    const { scope } = request;
    const refusal = this.#refusalOf(scope);
    if (refusal !== undefined) {
      this.#countRefused(request, refusal);
      return;
    }
    const verdict = gate === undefined ? scope.verdict : gate.verdictOf(scope);
    if (verdict === undefined) {
      this.#run(request);
      return;
    }
    if ('overload' in verdict && verdict.overload !== undefined) {
      observation.onOverloaded(verdict.overload, scope);
    }
    request.limiter = gate;
    this.#runAfter(verdict, request);
    if (!request.isAnswered) gate?.hold(scope);
  }

  /** Answers a request of which nothing runs. */
  refuse(request: ServiceRequest, refusal: Outcome): void {
    const { config } = this.#context;
    const { body, payload } = request;
    request.onReply(
      body === undefined
        ? refusePayload(payload, refusal, config)
        : refuseBody(body, refusal, config),
    );
  }

  #runAfter(verdict: NonNullable<RequestScope['verdict']>, request: ServiceRequest): void {
    const { deadlines, inFlight } = this.#context;
    const { scope } = request;
    const settle = (refusal: Outcome | undefined): void => {
      const all = refusal ?? this.#refusalOf(scope);
      if (all === undefined) this.#run(request);
      else this.#countRefused(request, all);
    };
    const refusal = awaitVerdict(scope, verdict, deadlines);
    if (!(refusal instanceof Promise)) {
      settle(refusal);
      return;
    }
    request.keep();
    // A request that waits for its verdict counts as in flight.
    scope.enterFlight(inFlight);
    const deployment = this.#deployments.current;
    deployment?.enter();
    void refusal.then((value) => {
      // The caller that is known now may be another one than the caller that has signed in.
      scope.leaveFlight();
      settle(value);
      // The handling has counted the request by now: no gap between the two.
      deployment?.leave();
    });
  }

  #run(request: ServiceRequest): void {
    const deployment = this.#deployments.current;
    const { scope, body, payload } = request;
    if (body === undefined) this.#kernel.handlePayload(payload, scope, request);
    else this.#kernel.handle(body, scope, request);
    if (request.isAnswered || deployment === undefined) return;
    request.deployment = deployment;
    deployment.enter();
    scope.enterFlight(this.#context.inFlight);
  }

  #refusalOf(scope: RequestScope): Outcome | undefined {
    const { inFlight, observation } = this.#context;
    if (!inFlight.isScarce) return undefined;
    const denial = inFlight.denial(scope);
    if (denial === undefined) return undefined;
    const overload = denial === 'share' ? 'inFlightShare' : 'inFlight';
    observation.onOverloaded(overload, scope);
    return overloadedOutcome(overload);
  }

  #countRefused(request: ServiceRequest, refusal: Outcome): void {
    this.#context.observation.onRefused(refusal.code, undefined, undefined, request.scope);
    this.refuse(request, refusal);
  }
}
