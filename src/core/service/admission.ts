import { overloadedOutcome } from '../dispatch/call.ts';
import { awaitVerdict } from '../dispatch/deadline.ts';
import { type Kernel, type KernelLimits, refuseBody, refusePayload } from '../dispatch/kernel.ts';
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
  readonly #kernel: Kernel;
  readonly #limits: KernelLimits;
  #body: string | Uint8Array | undefined;
  readonly #payload: unknown;
  #sink: ReplySink | undefined;
  #generation: Generation | undefined;

  /**
   * @param body text, or its UTF-8 bytes; undefined: a program in this process sent `payload`
   * @param payload the request, parsed already
   */
  constructor(
    kernel: Kernel,
    limits: KernelLimits,
    scope: RequestScope,
    body: string | Uint8Array | undefined,
    payload?: unknown,
  ) {
    this.#kernel = kernel;
    this.#limits = limits;
    this.scope = scope;
    this.#body = body;
    this.#payload = payload;
  }

  run(): Reply | Promise<Reply> {
    const body = this.#body;
    return body === undefined
      ? this.#kernel.handlePayload(this.#payload, this.scope)
      : this.#kernel.handle(body, this.scope);
  }

  /**
   * As `run`, but the reply to a body may go to the sink.
   *
   * @param generation counts the request while the sink waits for the reply
   */
  runInto(sink: ReplySink, generation: Generation): Reply | Promise<Reply> | GoesToSink {
    const body = this.#body;
    if (body === undefined) return this.run();
    this.#sink = sink;
    this.#generation = generation;
    const reply = this.#kernel.handle(body, this.scope, this);
    if (reply === goesToSink) generation.enter();
    return reply;
  }

  onReply(reply: Reply): void {
    this.#generation?.leave();
    this.scope.leaveFlight();
    this.#sink?.onReply(reply);
  }

  /** Makes the reply of a request of which nothing runs. */
  refuse(refusal: Outcome): Reply {
    const body = this.#body;
    return body === undefined
      ? refusePayload(this.#payload, refusal, this.#limits)
      : refuseBody(body, refusal, this.#limits);
  }

  /** Copies what the caller lent only until `handle` returns, since the request has to wait. */
  keep(): void {
    if (this.#body !== undefined) this.#body = keepBody(this.#body);
  }
}

/**
 * Decides for each request whether it runs. A request whose reply is not there at once has a place among the requests in
 * flight, until it has its reply or its caller has gone. What still runs for nobody is bounded elsewhere.
 */
export class Admission {
  readonly #context: ServiceContext;
  readonly #generations: Generations;

  constructor(context: ServiceContext, generations: Generations) {
    this.#context = context;
    this.#generations = generations;
  }

  /** Runs the request, or refuses it: too many are in flight, or the verdict on its caller is a refusal. */
  enter(request: ServiceRequest): Reply | Promise<Reply> {
    const { gate, observation } = this.#context;
    const { scope } = request;
    const refusal = this.#refusalOf(scope);
    if (refusal !== undefined) return this.#refuse(request, refusal);
    const verdict = gate === undefined ? scope.verdict : gate.verdictOf(scope);
    if (verdict === undefined) return this.#run(request);
    if ('overload' in verdict && verdict.overload !== undefined) {
      observation.onOverloaded(verdict.overload, scope);
    }
    const reply = this.#runAfter(verdict, request);
    return gate === undefined ? reply : gate.hold(scope, reply);
  }

  /** As `enter`. The reply may go to the sink where nothing but the calls is waited for. */
  enterInto(request: ServiceRequest, sink: ReplySink): Reply | Promise<Reply> | GoesToSink {
    const { inFlight, gate } = this.#context;
    const generation = this.#generations.current;
    const { scope } = request;
    const isPlain = gate === undefined && scope.verdict === undefined;
    if (!isPlain || generation === undefined || inFlight.isScarce) return this.enter(request);
    const reply = request.runInto(sink, generation);
    if (reply === goesToSink) scope.enterFlight(inFlight);
    return reply instanceof Promise ? this.#track(reply, generation, scope) : reply;
  }

  #runAfter(
    verdict: NonNullable<RequestScope['verdict']>,
    request: ServiceRequest,
  ): Reply | Promise<Reply> {
    const { deadlines, inFlight } = this.#context;
    const { scope } = request;
    const settled = (refusal: Outcome | undefined): Reply | Promise<Reply> => {
      const all = refusal ?? this.#refusalOf(scope);
      return all === undefined ? this.#run(request) : this.#refuse(request, all);
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
    const reply = request.run();
    if (!(reply instanceof Promise) || generation === undefined) return reply;
    return this.#track(reply, generation, request.scope);
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

  #refuse(request: ServiceRequest, refusal: Outcome): Reply {
    this.#context.observation.onRefused(refusal.code, undefined, undefined, request.scope);
    return request.refuse(refusal);
  }
}
