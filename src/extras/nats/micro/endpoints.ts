import { isUtf8 } from 'node:buffer';
import { clockMs } from '../../../core/base/clock.ts';
import type { Authenticator } from '../../../core/dispatch/authenticate.ts';
import { RequestBody } from '../../../core/dispatch/body-memory.ts';
import { overloadedReply } from '../../../core/dispatch/call.ts';
import { badTimeoutReason, parseTimeout, RequestScope } from '../../../core/dispatch/scope.ts';
import type { Service } from '../../../core/dispatch/service.ts';
import { ErrorCode, standardErrorText } from '../../../core/protocol/errors.ts';
import {
  errorOutcome,
  errorReply,
  goesToSink,
  type Outcome,
  type Reply,
} from '../../../core/protocol/reply.ts';
import { endOfValue, skipBlanks } from '../../../core/protocol/syntax.ts';
import type {
  NatsConnection,
  NatsFacts,
  NatsHeaders,
  NatsMessage,
  NatsSubscription,
} from '../connection/connection.ts';
import { AnswerLimit } from '../pace.ts';
import { hasSubject, mayAnswer } from '../subjects.ts';

export interface EndpointsOptions extends ClientRequestOptions {
  readonly connection: NatsConnection;
  /** Who answers, as clients of micro services see it: a name, a semantic version, an ISO 8601 date. */
  readonly name: string;
  readonly id: string;
  readonly version: string;
  readonly started: string;
  /** First tokens of subjects at which clients wait for answers, beside `_INBOX`. */
  readonly natsReplyPrefixes: readonly string[];
  /** What serves now. */
  readonly served: () => { readonly names: readonly string[]; readonly contract: string };
}

/** The queue group that members share for endpoints. */
const queueGroup = 'q';

const verbs = ['PING', 'INFO', 'STATS'] as const;
type Verb = (typeof verbs)[number];

/**
 * A member as a micro service of NATS: any client calls procedures by their subjects, and finds the service with the tools
 * of NATS. Each procedure has a subscription of its own, so that a call never comes to a member that lacks the procedure.
 */
export class Endpoints {
  readonly options: EndpointsOptions;
  readonly #procedures = new Map<string, Endpoint>();
  readonly #rpc: Endpoint;
  readonly #controls: NatsSubscription[];
  /** A list of ten thousand procedures takes milliseconds to write, and is as long as a message may be. */
  readonly #answers = new AnswerLimit(1024 ** 2);
  #inFlight = 0;
  #whenIdle: (() => void) | undefined;
  #draining: Promise<void> | undefined;
  /** Kept until the procedures change: of ten thousand procedures it takes milliseconds to write. */
  #info: { readonly text: string; readonly maxPayload: number } | undefined;

  constructor(options: EndpointsOptions) {
    this.options = options;
    const { connection, name, id } = options;
    this.#rpc = new Endpoint(
      this,
      `${name}.rpc`,
      'rpc',
      ({ data }) => [data],
      (reply) => ({ data: reply ?? '' }),
    );
    this.renew();
    this.#controls = verbs.flatMap((verb) =>
      [`$SRV.${verb}`, `$SRV.${verb}.${name}`, `$SRV.${verb}.${name}.${id}`].map((subject) =>
        connection.subscribe(subject, (message) => this.#control(verb, message)),
      ),
    );
  }

  /** Other modules serve from now on: procedures have come or gone. */
  renew(): void {
    this.#info = undefined;
    if (this.#draining !== undefined) return;
    const { name: service, served, maxDepth } = this.options;
    const names = new Set(served().names.filter(hasSubject));
    for (const [name, endpoint] of this.#procedures) {
      if (names.has(name)) continue;
      this.#procedures.delete(name);
      void endpoint.drain();
    }
    for (const name of names) {
      if (this.#procedures.has(name)) continue;
      const head = requestHead(name);
      const endpoint = new Endpoint(
        this,
        `${service}.call.${name}`,
        name,
        (message) => requestPieces(head, message, maxDepth),
        answerOf,
      );
      this.#procedures.set(name, endpoint);
    }
  }

  /** Takes nothing new. Resolves when what has come is answered. Idempotent; never rejects. */
  drain(): Promise<void> {
    this.#draining ??= this.#drain();
    return this.#draining;
  }

  /** A request has come. */
  onRequest(): void {
    this.#inFlight++;
  }

  onAnswered(): void {
    this.#inFlight--;
    if (this.#inFlight === 0) this.#whenIdle?.();
  }

  async #drain(): Promise<void> {
    const endpoints = [...this.#procedures.values(), this.#rpc, ...this.#controls];
    await Promise.all(endpoints.map((endpoint) => endpoint.drain()));
    if (this.#inFlight === 0) return;
    await new Promise<void>((resolve) => {
      this.#whenIdle = resolve;
    });
  }

  #control(verb: Verb, { reply }: NatsMessage): void {
    const { connection, natsReplyPrefixes } = this.options;
    if (!mayAnswer(reply, natsReplyPrefixes) || this.#answers.isReached) return;
    const text = verb === 'INFO' ? this.#infoText() : this.#text(verb);
    this.#answers.note(text.length);
    connection.publish(reply, text);
  }

  #infoText(): string {
    const { maxPayload } = this.options.connection;
    if (this.#info?.maxPayload !== maxPayload) {
      this.#info = { text: this.#text('INFO'), maxPayload };
    }
    return this.#info.text;
  }

  /** An answer of NATS ADR-32. */
  #text(verb: Verb): string {
    const { name, id, version, started, served } = this.options;
    const type = `io.nats.micro.v1.${verb.toLowerCase()}_response`;
    const head = { type, name, id, version };
    const metadata = { 'tandem-contract': served().contract, 'tandem-protocol': '1' };
    if (verb === 'PING') return JSON.stringify({ ...head, metadata });
    const description = 'A service of Tandem RPC: params of a procedure in, its result out.';
    const more = verb === 'INFO' ? { description } : { started };
    return this.#listText(verb, { ...head, ...more }, metadata);
  }

  /**
   * An answer with a list of endpoints, cut where the answer would be larger than one message. A longer answer would not be
   * sent at all. `tandem-omitted` says how many endpoints are missing.
   */
  #listText(verb: Verb, head: object, metadata: object): string {
    const answer = (texts: readonly string[], omitted: number): string => {
      const more = omitted > 0 && { 'tandem-omitted': String(omitted) };
      const rest = JSON.stringify({ ...head, metadata: { ...metadata, ...more } }).slice(0, -1);
      return `${rest},"endpoints":[${texts.join(',')}]}`;
    };
    const { maxPayload } = this.options.connection;
    let room = maxPayload - Buffer.byteLength(answer([], Number.MAX_SAFE_INTEGER));
    const texts: string[] = [];
    let omitted = 0;
    for (const endpoint of [this.#rpc, ...this.#procedures.values()]) {
      const text = endpoint.toText(verb);
      room -= Buffer.byteLength(text) + 1;
      if (room < 0) omitted++;
      else texts.push(text);
    }
    return answer(texts, omitted);
  }
}

/** Answers one subject, and counts what it has answered. */
class Endpoint {
  readonly #subject: string;
  /** As callers know it; `rpc` for the endpoint of whole requests. */
  readonly #name: string;
  #requests = 0;
  #errors = 0;
  /** `-32602:Invalid params`; the empty text: none. */
  #lastError = '';
  /** Milliseconds from receipt to answer, of all requests together. */
  #ms = 0;
  readonly #endpoints: Endpoints;
  readonly #subscription: NatsSubscription;
  readonly #piecesOf: (message: NatsMessage) => readonly Uint8Array[] | undefined;
  readonly #answerOf: (reply: Reply) => ClientAnswer;

  /** @param piecesOf the JSON-RPC of a message; undefined: it can be none */
  constructor(
    endpoints: Endpoints,
    subject: string,
    name: string,
    piecesOf: (message: NatsMessage) => readonly Uint8Array[] | undefined,
    answerOf: (reply: Reply) => ClientAnswer,
  ) {
    this.#endpoints = endpoints;
    this.#subject = subject;
    this.#name = name;
    this.#piecesOf = piecesOf;
    this.#answerOf = answerOf;
    const { connection } = endpoints.options;
    this.#subscription = connection.subscribe(subject, (message) => this.#onMessage(message), {
      queue: queueGroup,
    });
  }

  /** Resolves when every message that the server has sent was taken. Answers may be on their way. */
  drain(): Promise<void> {
    return this.#subscription.drain();
  }

  /** Its place in an answer of ADR-32. */
  toText(verb: Verb): string {
    const name = this.#name;
    const common = {
      // Micro services take letters, digits, `-` and `_`.
      name: name.replaceAll(/[./:]/g, '_'),
      subject: this.#subject,
      queue_group: queueGroup,
    };
    if (verb === 'INFO') return JSON.stringify({ ...common, metadata: { procedure: name } });
    const requests = this.#requests;
    const nanoseconds = Math.round(this.#ms * 1e6);
    return JSON.stringify({
      ...common,
      num_requests: requests,
      num_errors: this.#errors,
      last_error: this.#lastError,
      processing_time: nanoseconds,
      average_processing_time: requests === 0 ? 0 : Math.round(nanoseconds / requests),
    });
  }

  #onMessage(message: NatsMessage): void {
    const { reply } = message;
    this.#requests++;
    this.#endpoints.onRequest();
    const pieces = this.#piecesOf(message);
    if (pieces === undefined) {
      this.#answer(reply, errorAnswer(standardErrorText(ErrorCode.ParseError)), 0);
      return;
    }
    handleRequest(this.#endpoints.options, message, pieces, (made, ms) =>
      this.#answer(reply, this.#answerOf(made), ms),
    );
  }

  #answer(to: string, answer: ClientAnswer, ms: number): void {
    const { connection, natsReplyPrefixes } = this.#endpoints.options;
    this.#ms += ms;
    if (mayAnswer(to, natsReplyPrefixes) && !send(connection, to, answer) && connection.connected) {
      // These answers do not travel in parts.
      const limit = connection.maxPayload;
      send(connection, to, errorAnswer(standardErrorText(ErrorCode.LimitExceeded, { limit })));
    }
    if (answer.error !== undefined) {
      this.#errors++;
      this.#lastError = answer.error;
    }
    this.#endpoints.onAnswered();
  }
}

function send(connection: NatsConnection, to: string, { data, headers }: ClientAnswer): boolean {
  return connection.publish(to, data, headers === undefined ? {} : { headers });
}

/** What the requests of clients that are no gateways need of the member. */
interface ClientRequestOptions {
  readonly service: Service;
  readonly authenticate: Authenticator<NatsFacts> | undefined;
  /** In lower case. */
  readonly forwardHeaders: readonly string[];
  readonly maxBodyBytes: number;
  readonly maxDepth: number;
}

const badTimeout: Outcome = errorOutcome(ErrorCode.InvalidRequest, { reason: badTimeoutReason });

/**
 * One message of a client: the transport's side of a request. `answer` is called once, in the turn of the message or later.
 *
 * @param pieces the body: the whole of them is one JSON-RPC request or batch
 * @param answer undefined: there is nothing to answer
 */
function handleRequest(
  { service, authenticate, forwardHeaders, maxBodyBytes }: ClientRequestOptions,
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
  const body = RequestBody.reserve(service.bodyMemory, length, scope);
  if (typeof body === 'string') {
    finish(overloadedReply(body));
    return;
  }
  scope.body = body.lease;
  scope.verdict = Number.isNaN(timeoutMs)
    ? { refusal: badTimeout }
    : authenticate?.(factsOf(message));
  let whole: Uint8Array | undefined;
  for (const piece of pieces) whole = body.add(piece);
  const onReply = (reply: Reply): void => {
    body.release();
    finish(reply);
  };
  const reply = service.handle(whole ?? new Uint8Array(0), scope, { onReply });
  // The service never rejects.
  if (reply instanceof Promise) void reply.then(onReply);
  else if (reply !== goesToSink) onReply(reply);
}

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

/** The id of the requests that params are put into. */
const id = '1';
const resultHead = `{"jsonrpc":"2.0","id":${id},"result":`;
const errorHead = /^\{"jsonrpc":"2\.0","id":(?:1|null),"error":/;
const paramsHead = Buffer.from(',"params":');
const end = Buffer.from('}');

/** What stands before the params of a call, so that the whole is a JSON-RPC request. */
interface RequestHead {
  readonly call: Uint8Array;
  readonly notification: Uint8Array;
}

function requestHead(procedure: string): RequestHead {
  // Names are letters, digits and a few signs: none of them needs an escape.
  return {
    call: Buffer.from(`{"jsonrpc":"2.0","id":${id},"method":"${procedure}"`),
    notification: Buffer.from(`{"jsonrpc":"2.0","method":"${procedure}"`),
  };
}

/**
 * The request that a message with params stands for, in pieces; undefined: its payload is not one JSON value. It must be one: a
 * text that closes the params could go on with another method.
 */
function requestPieces(
  { call, notification }: RequestHead,
  { reply, data }: NatsMessage,
  maxDepth: number,
): readonly Uint8Array[] | undefined {
  const head = reply === '' ? notification : call;
  const { byteLength } = data;
  if (byteLength === 0) return [head, end];
  const stop = endOfValue(data, skipBlanks(data, 0, byteLength), byteLength, maxDepth);
  const isOne = stop !== -1 && skipBlanks(data, stop, byteLength) === byteLength;
  return isOne && isUtf8(data) ? [head, paramsHead, data, end] : undefined;
}

/** What a client is sent: the result, or the error object with headers that say so. */
interface ClientAnswer {
  readonly data: Uint8Array | string;
  readonly headers?: NatsHeaders;
  /** Its code and message; undefined: a result. */
  readonly error?: string;
}

/** @param reply of a request that begins as `requestHead` says */
function answerOf(reply: Reply): ClientAnswer {
  if (reply === undefined) return { data: '' };
  if (typeof reply === 'string') {
    if (reply.startsWith(resultHead)) return { data: reply.slice(resultHead.length, -1) };
    return errorAnswer(reply.replace(errorHead, '').slice(0, -1));
  }
  const bytes = Buffer.from(reply.buffer, reply.byteOffset, reply.byteLength);
  const isResult = bytes.toString('latin1', 0, resultHead.length) === resultHead;
  return isResult ? { data: bytes.subarray(resultHead.length, -1) } : answerOf(bytes.toString());
}

/** Characters of an error's message that a header holds, and the figures of an endpoint. The body has all of it. */
const maxMessage = 512;

/** How every error object begins that this package writes. Its data may be large, and is not parsed. */
const errorStart = /^\{"code":(-?\d+),"message":("(?:[^"\\]|\\.)*")/;

/** @param error JSON text of the error object */
function errorAnswer(error: string): ClientAnswer {
  const [, code = '0', message = '""'] = errorStart.exec(error) ?? [];
  const text = (JSON.parse(message) as string).slice(0, maxMessage);
  return {
    data: error,
    headers: [
      ['Nats-Service-Error-Code', code],
      ['Nats-Service-Error', text],
    ],
    error: `${code}:${text}`,
  };
}
