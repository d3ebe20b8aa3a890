import { clockMs } from '../../base/clock.ts';
import type { Authenticator } from '../../dispatch/authenticate.ts';
import { noMemory } from '../../dispatch/limit.ts';
import { type GoesToSink, goesToSink, type ReplySink } from '../../dispatch/reply-sink.ts';
import { RequestBody } from '../../dispatch/request-body.ts';
import { RequestScope } from '../../dispatch/scope.ts';
import type { Service } from '../../dispatch/service.ts';
import { badTimeoutReason, parseTimeout } from '../../dispatch/timeout-header.ts';
import { ErrorCode } from '../../jsonrpc/errors.ts';
import { errorOutcome, errorReply, type Outcome, type Reply } from '../../jsonrpc/reply.ts';
import type { NatsFacts } from '../caller.ts';
import type { NatsMessage } from '../connection/connection.ts';

/** What the requests of other clients need of the member. */
export interface ForeignContext {
  readonly service: Service;
  readonly authenticate: Authenticator<NatsFacts> | undefined;
  /** In lower case. */
  readonly forwardHeaders: readonly string[];
  readonly maxBodyBytes: number;
  readonly maxDepth: number;
}

/**
 * One message of a client that is no gateway: the transport's side of a request. `answer` is called once, in the turn of
 * the message or later.
 *
 * @param pieces the body: the whole of them is one JSON-RPC request or batch
 * @param answer undefined: there is nothing to answer
 */
export function handleForeign(
  { service, authenticate, forwardHeaders, maxBodyBytes }: ForeignContext,
  message: NatsMessage,
  pieces: readonly Uint8Array[],
  answer: (reply: Reply, ms: number) => void,
): void {
  const receivedAt = clockMs();
  const finish = (reply: Reply): void => answer(reply, clockMs() - receivedAt);
  const length = pieces.reduce((sum, piece) => sum + piece.byteLength, 0);
  if (length > maxBodyBytes) {
    finish(errorReply('null', ErrorCode.LimitExceeded, { limit: maxBodyBytes }));
    return;
  }
  const body = RequestBody.reserve(service.bodyMemory, length);
  if (body === undefined) {
    finish(noMemory);
    return;
  }
  const limit = message.header('rpc-timeout-ms');
  const timeoutMs = limit === '' ? undefined : parseTimeout(limit);
  const scope = new RequestScope(
    {
      headers: forwarded(message, forwardHeaders),
      timeoutMs,
      traceparent: message.header('traceparent') || undefined,
      tracestate: message.header('tracestate') || undefined,
    },
    receivedAt,
  );
  scope.body = body.lease;
  scope.verdict = Number.isNaN(timeoutMs)
    ? { refusal: badTimeout }
    : authenticate?.(factsOf(message));
  const sink = new ForeignSink(body, finish);
  sink.take(service.handle(gathered(body, pieces), scope, sink));
}

/** Gives the body's memory back when the request is answered. */
class ForeignSink implements ReplySink {
  readonly #body: RequestBody;
  readonly #finish: (reply: Reply) => void;

  constructor(body: RequestBody, finish: (reply: Reply) => void) {
    this.#body = body;
    this.#finish = finish;
  }

  onReply(reply: Reply): void {
    this.#body.release();
    this.#finish(reply);
  }

  take(reply: Reply | Promise<Reply> | GoesToSink): void {
    if (reply === goesToSink) return;
    if (reply instanceof Promise) void reply.then((settled) => this.onReply(settled));
    else this.onReply(reply);
  }
}

function gathered(body: RequestBody, pieces: readonly Uint8Array[]): Uint8Array {
  let whole: Uint8Array | undefined;
  for (const piece of pieces) whole = body.add(piece);
  return whole ?? new Uint8Array(0);
}

const badTimeout: Outcome = errorOutcome(ErrorCode.InvalidRequest, { reason: badTimeoutReason });

function forwarded(
  message: NatsMessage,
  names: readonly string[],
): Record<string, string> | undefined {
  const sent = names
    .map((name) => [name, message.header(name)] as const)
    .filter(([, value]) => value !== '');
  return sent.length === 0 ? undefined : Object.fromEntries(sent);
}

function factsOf(message: NatsMessage): NatsFacts {
  return Object.freeze({
    headers: Object.freeze(message.headers()),
    remoteAddress: undefined,
    method: 'NATS',
    path: message.subject,
  });
}
