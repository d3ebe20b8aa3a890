import { neverRan } from '../../dispatch/observer.ts';
import type { ReplySink } from '../../dispatch/reply-sink.ts';
import { goesToSink } from '../../dispatch/reply-sink.ts';
import type { RequestBody } from '../../dispatch/request-body.ts';
import { type CallWatcher, RequestScope, type ScopeFacts } from '../../dispatch/scope.ts';
import type { Service } from '../../dispatch/service.ts';
import { ErrorCode } from '../../jsonrpc/errors.ts';
import type { Reply } from '../../jsonrpc/reply.ts';
import { ReplyKind, type WireCall, type WireFacts, type WireReply } from '../wire.ts';

/** Codes of calls that were refused before they ran, of which another member may think otherwise. */
const elsewhere: readonly number[] = [
  ErrorCode.Overloaded,
  ErrorCode.MethodNotFound,
  ErrorCode.Cancelled,
];

/** Whom an errand tells of its end. */
export interface ErrandOwner {
  onErrandEnd(errand: Errand, reply: WireReply): void;
}

/** One call that a gateway has sent, from its arrival to its reply. */
export class Errand implements ReplySink, CallWatcher {
  readonly ticket: number;
  readonly scope: RequestScope;
  /** The call that begins when this one has ended. */
  next: Errand | undefined;
  readonly #owner: ErrandOwner;
  readonly #body: string | Uint8Array;
  /** Where the body counts; undefined: nothing is held. */
  readonly #memory: RequestBody | undefined;
  /** It was cancelled by who sent it: no other member is to run it. */
  isCancelled = false;
  /** The code with which it is given back in place of being run; 0: none that says why. */
  refusal: number | undefined;
  #code = 0;
  #runUs: number = neverRan;

  constructor(
    call: WireCall,
    body: string | Uint8Array,
    memory: RequestBody | undefined,
    owner: ErrandOwner,
  ) {
    this.ticket = call.ticket;
    this.#body = body;
    this.#memory = memory;
    this.#owner = owner;
    this.scope = new RequestScope(factsOf(call));
    this.scope.callTimeoutMs = call.runMs === -1 ? undefined : call.runMs;
    this.scope.watcher = this;
    this.scope.body = memory?.lease;
  }

  /** Runs it, and what follows it. */
  run(service: Service): void {
    const reply = service.handle(this.#body, this.scope, this);
    if (reply === goesToSink) return;
    // The service never rejects.
    if (reply instanceof Promise) void reply.then((value) => this.onReply(value));
    else this.onReply(reply);
  }

  cancel(): void {
    this.isCancelled = true;
    this.scope.cancel();
  }

  /** See {@link CallWatcher}. */
  onCallEnd(code: number, runUs: number): void {
    this.#code = code;
    this.#runUs = runUs;
  }

  onReply(reply: Reply): void {
    this.#memory?.release();
    const isRefused = this.#runUs === neverRan && elsewhere.includes(this.#code);
    const kind = isRefused && !this.isCancelled ? ReplyKind.notRun : ReplyKind.final;
    this.#end(kind, this.#code, this.#runUs, reply ?? '');
  }

  /** Gives it back: it has not run. */
  giveBack(code: number): void {
    this.#memory?.release();
    this.#end(ReplyKind.notRun, code, neverRan, '');
  }

  #end(kind: ReplyKind, code: number, runUs: number, body: string | Uint8Array): void {
    this.#owner.onErrandEnd(this, { ticket: this.ticket, kind, code, runUs, body });
  }
}

function factsOf({ facts, timeoutMs }: WireCall): ScopeFacts {
  const given: WireFacts = facts ?? {};
  return {
    headers: given.headers,
    remoteAddress: given.ip,
    traceparent: given.tp,
    tracestate: given.ts,
    timeoutMs: timeoutMs === -1 ? undefined : timeoutMs,
  };
}
