import type { Kernel } from '../dispatch/kernel.ts';
import { keepBody } from '../dispatch/large-body.ts';
import { refuseBody, refusePayload } from '../dispatch/refuse.ts';
import { type GoesToSink, goesToSink, type ReplySink } from '../dispatch/reply-sink.ts';
import type { KernelLimits } from '../dispatch/routing.ts';
import type { RequestScope } from '../dispatch/scope.ts';
import type { Outcome, Reply } from '../jsonrpc/reply.ts';

/** One JSON-RPC request or batch. It runs, or is refused as a whole. */
export interface ServiceRequest {
  readonly scope: RequestScope;
  run(): Reply | Promise<Reply>;
  /** Makes the reply of a request of which nothing runs. */
  refuse(refusal: Outcome): Reply;
  /** Copies what the caller lent only until `handle` returns, since the request has to wait. */
  keep(): void;
}

/** Counts requests in flight. */
export interface RequestCounter {
  enter(): void;
  leave(): void;
}

/** A request as text or as UTF-8 bytes. */
export class BodyRequest implements ServiceRequest, ReplySink {
  readonly scope: RequestScope;
  readonly #kernel: Kernel;
  readonly #limits: KernelLimits;
  #body: string | Uint8Array;
  #sink: ReplySink | undefined;
  #counter: RequestCounter | undefined;

  constructor(
    kernel: Kernel,
    limits: KernelLimits,
    body: string | Uint8Array,
    scope: RequestScope,
  ) {
    this.#kernel = kernel;
    this.#limits = limits;
    this.#body = body;
    this.scope = scope;
  }

  run(): Reply | Promise<Reply> {
    return this.#kernel.handle(this.#body, this.scope);
  }

  /**
   * As `run`, but the reply may go to the sink.
   *
   * @param counter counts the request while the sink waits for the reply
   */
  runInto(sink: ReplySink, counter: RequestCounter): Reply | Promise<Reply> | GoesToSink {
    this.#sink = sink;
    this.#counter = counter;
    const reply = this.#kernel.handle(this.#body, this.scope, this);
    if (reply === goesToSink) counter.enter();
    return reply;
  }

  onReply(reply: Reply): void {
    this.#counter?.leave();
    this.#sink?.onReply(reply);
  }

  refuse(refusal: Outcome): Reply {
    return refuseBody(this.#body, refusal, this.#limits);
  }

  keep(): void {
    this.#body = keepBody(this.#body);
  }
}

/** A request that is parsed already: a program sent it in its own process. */
export class PayloadRequest implements ServiceRequest {
  readonly scope: RequestScope;
  readonly #kernel: Kernel;
  readonly #limits: KernelLimits;
  readonly #payload: unknown;

  constructor(kernel: Kernel, limits: KernelLimits, payload: unknown, scope: RequestScope) {
    this.#kernel = kernel;
    this.#limits = limits;
    this.#payload = payload;
    this.scope = scope;
  }

  run(): Reply | Promise<Reply> {
    return this.#kernel.handlePayload(this.#payload, this.scope);
  }

  refuse(refusal: Outcome): Reply {
    return refusePayload(this.#payload, refusal, this.#limits);
  }

  keep(): void {}
}
