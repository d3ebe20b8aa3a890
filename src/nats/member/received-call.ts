import { neverRan } from '../../dispatch/observer.ts';
import { goesToSink, type ReplySink } from '../../dispatch/reply-sink.ts';
import type { RequestBody } from '../../dispatch/request-body.ts';
import { type CallWatcher, RequestScope, type ScopeFacts } from '../../dispatch/scope.ts';
import type { Service } from '../../dispatch/service.ts';
import type { StreamFlow, StreamHost, StreamSink } from '../../dispatch/streams/contract.ts';
import { ErrorCode } from '../../jsonrpc/errors.ts';
import type { Outcome, Reply } from '../../jsonrpc/reply.ts';
import { ReplyKind, type WireReply } from '../wire/to-gateway.ts';
import type { WireCall, WireFacts } from '../wire/to-member.ts';

/** Codes of calls that were refused before they ran, of which another member may think otherwise. */
const elsewhere: readonly number[] = [
  ErrorCode.Overloaded,
  ErrorCode.MethodNotFound,
  ErrorCode.Cancelled,
];

/** Whom a received call tells of its end. */
export interface ReceivedCallOwner {
  onCallEnded(call: ReceivedCall, reply: WireReply): void;
  /** Its stream has opened: it has its answer, and goes on. */
  onStreamOpened(call: ReceivedCall, reply: WireReply): void;
  /** Its stream has given a value. */
  onStreamValue(reply: WireReply): void;
}

/** One call that a gateway has sent, from its arrival to its reply. */
export class ReceivedCall implements ReplySink, CallWatcher, StreamHost, StreamSink {
  readonly ticket: number;
  readonly scope: RequestScope;
  /** The call that begins when this one has ended. */
  next: ReceivedCall | undefined;
  readonly #owner: ReceivedCallOwner;
  readonly #body: string | Uint8Array;
  /** Where the body counts; undefined: nothing is held. */
  readonly #memory: RequestBody | undefined;
  /** It was cancelled by who sent it: no other member is to run it. */
  isCancelled = false;
  /** The code with which it is given back in place of being run; 0: none that says why. */
  refusal: number | undefined;
  #flow: StreamFlow | undefined;
  /** What its stream was granted, all in all. */
  #values = 0;
  #characters = 0;
  #code = 0;
  #runUs: number = neverRan;

  constructor(
    call: WireCall,
    body: string | Uint8Array,
    memory: RequestBody | undefined,
    owner: ReceivedCallOwner,
  ) {
    this.ticket = call.ticket;
    this.#body = body;
    this.#memory = memory;
    this.#owner = owner;
    this.scope = new RequestScope(factsOf(call));
    this.scope.callTimeoutMs = call.runMs === -1 ? undefined : call.runMs;
    this.scope.watcher = this;
    if (call.isRead) this.scope.streams = this;
    this.scope.body = memory?.lease;
  }

  /** Runs it. Its owner runs what follows it, when it has ended. */
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

  /** Its member ends: where it has not begun, another one is to run it. */
  leave(): void {
    this.scope.cancel();
  }

  /** See {@link CallWatcher}. */
  onCallEnd(code: number, runUs: number): void {
    this.#code = code;
    this.#runUs = runUs;
  }

  /** See {@link StreamHost}. */
  accept(): StreamSink {
    return this;
  }

  /** See {@link StreamSink}. */
  opened(flow: StreamFlow): Reply {
    this.#flow = flow;
    return undefined;
  }

  /** See {@link StreamSink}. */
  value(text: string): void {
    const { ticket } = this;
    this.#owner.onStreamValue({ ticket, kind: ReplyKind.value, code: 0, runUs: 0, body: text });
  }

  /** See {@link StreamSink}. */
  end({ ok, code, text }: Outcome): void {
    this.#end(ok ? ReplyKind.ended : ReplyKind.failed, code, 0, text);
  }

  /** What its stream may give, all in all: a message may be lost, and then the next one says so again. */
  grant(values: number, characters: number): void {
    const [more, longer] = [values - this.#values, characters - this.#characters];
    if (more <= 0 && longer <= 0) return;
    this.#values = values;
    this.#characters = characters;
    this.#flow?.grant(more, longer);
  }

  /** Its gateway ends: the stream is to end as one of a service that ends. */
  drain(): void {
    this.#flow?.drain('shutdown');
  }

  onReply(reply: Reply): void {
    this.#memory?.release();
    if (this.#flow !== undefined && this.#code === 0) {
      const { ticket } = this;
      const runUs = this.#runUs;
      const opened = { ticket, kind: ReplyKind.opened, code: 0, runUs, body: '' };
      this.#owner.onStreamOpened(this, opened);
      return;
    }
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
    this.#owner.onCallEnded(this, { ticket: this.ticket, kind, code, runUs, body });
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
