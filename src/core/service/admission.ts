import { overloadedOutcome } from '../dispatch/call.ts';
import { awaitVerdict } from '../dispatch/deadline.ts';
import type { Kernel } from '../dispatch/kernel.ts';
import { refuseBody, refusePayload } from '../dispatch/kernel.ts';
import type { RequestScope } from '../dispatch/scope.ts';
import { keepBody } from '../protocol/body.ts';
import {
  type GoesToSink,
  goesToSink,
  type Outcome,
  type Reply,
  type ReplySink,
} from '../protocol/reply.ts';
import type { ServiceContext } from './context.ts';
import type { Generation } from './generation.ts';
import type { Generations } from './generations.ts';

/** One JSON-RPC request or batch. It runs, or is refused as a whole. */
export class ServiceRequest implements ReplySink {
  readonly scope: RequestScope;
  /** Text, or its UTF-8 bytes; undefined: a program in this process sent `payload`, the request parsed already. */
  body: string | Uint8Array | undefined;
  readonly payload: unknown;
  /** Where the reply goes, and the generation that counts the request until then. */
  sink: ReplySink | undefined;
  generation: Generation | undefined;

  constructor(scope: RequestScope, body: string | Uint8Array | undefined, payload?: unknown) {
    this.scope = scope;
    this.body = body;
    this.payload = payload;
  }

  onReply(reply: Reply): void {
    this.generation?.leave();
    this.scope.leaveFlight();
    this.sink?.onReply(reply);
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
  readonly #generations: Generations;
  readonly #kernel: Kernel;

  constructor(context: ServiceContext, generations: Generations, kernel: Kernel) {
    this.#context = context;
    this.#generations = generations;
    this.#kernel = kernel;
  }

  /** Runs the request, or refuses it: too many are in flight, or the verdict on its caller is a refusal. */
  enter(request: ServiceRequest): Reply | Promise<Reply> {
    const { gate, observation } = this.#context;
    const { scope } = request;
    const refusal = this.#refusalOf(scope);
    if (refusal !== undefined) return this.#countRefused(request, refusal);
    const verdict = gate === undefined ? scope.verdict : gate.verdictOf(scope);
    if (verdict === undefined) return this.#run(request);
    if ('overload' in verdict && verdict.overload !== undefined) {
      observation.onOverloaded(verdict.overload, scope);
    }
    const reply = this.#runAfter(verdict, request);
    return gate === undefined ? reply : gate.hold(scope, reply);
  }

  /** As `enter`. The reply may go to the sink if nothing but the calls is waited for. */
  enterInto(request: ServiceRequest, sink: ReplySink): Reply | Promise<Reply> | GoesToSink {
    const { inFlight, gate } = this.#context;
    const generation = this.#generations.current;
    const { scope, body } = request;
    const isPlain = gate === undefined && scope.verdict === undefined && body !== undefined;
    if (!isPlain || generation === undefined || inFlight.isScarce) return this.enter(request);
    request.sink = sink;
    request.generation = generation;
    const reply = this.#kernel.handle(body, scope, request);
    if (reply === goesToSink) {
      generation.enter();
      scope.enterFlight(inFlight);
    }
    return reply instanceof Promise ? this.#track(reply, generation, scope) : reply;
  }

  /** Makes the reply of a request of which nothing runs. */
  refuse({ body, payload }: ServiceRequest, refusal: Outcome): Reply {
    const { config } = this.#context;
    return body === undefined
      ? refusePayload(payload, refusal, config)
      : refuseBody(body, refusal, config);
  }

  #runAfter(
    verdict: NonNullable<RequestScope['verdict']>,
    request: ServiceRequest,
  ): Reply | Promise<Reply> {
    const { deadlines, inFlight } = this.#context;
    const { scope } = request;
    const settled = (refusal: Outcome | undefined): Reply | Promise<Reply> => {
      const all = refusal ?? this.#refusalOf(scope);
      return all === undefined ? this.#run(request) : this.#countRefused(request, all);
    };
    const refusal = awaitVerdict(scope, verdict, deadlines);
    if (!(refusal instanceof Promise)) return settled(refusal);
    request.keep();
    // The caller that is known now may be another one than the caller that has signed in.
    scope.enterFlight(inFlight);
    const reply = refusal.then((value) => {
      scope.leaveFlight();
      return settled(value);
    });
    // A request that waits for its verdict counts as in flight. After the line above, so that the handling counts the
    // request before this count of it ends: no gap between the two.
    void this.#generations.current?.track(refusal);
    return reply;
  }

  #run(request: ServiceRequest): Reply | Promise<Reply> {
    const generation = this.#generations.current;
    const { scope, body, payload } = request;
    const reply =
      body === undefined
        ? this.#kernel.handlePayload(payload, scope)
        : this.#kernel.handle(body, scope);
    if (!(reply instanceof Promise) || generation === undefined) return reply;
    return this.#track(reply, generation, scope);
  }

  #track(reply: Promise<Reply>, generation: Generation, scope: RequestScope): Promise<Reply> {
    scope.enterFlight(this.#context.inFlight);
    return generation.track(reply, scope);
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

  #countRefused(request: ServiceRequest, refusal: Outcome): Reply {
    this.#context.observation.onRefused(refusal.code, undefined, undefined, request.scope);
    return this.refuse(request, refusal);
  }
}
