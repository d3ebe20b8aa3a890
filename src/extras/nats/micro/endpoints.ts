import { isUtf8 } from 'node:buffer';
import { clockMs } from '../../../core/base/clock.ts';
import { Vacancy } from '../../../core/base/timer.ts';
import type { Config } from '../../../core/config/config.ts';
import type { Authenticator } from '../../../core/dispatch/authenticate.ts';
import { RequestBody } from '../../../core/dispatch/body-memory.ts';
import { overloadedReply } from '../../../core/dispatch/call.ts';
import { badTimeoutReason, parseTimeout, RequestScope } from '../../../core/dispatch/scope.ts';
import type { Service } from '../../../core/dispatch/service.ts';
import { ErrorCode, standardErrorText } from '../../../core/protocol/errors.ts';
import {
  contentOf,
  errorOutcome,
  errorReply,
  type Outcome,
  type Reply,
} from '../../../core/protocol/reply.ts';
import { endOfValue, skipBlanks } from '../../../core/protocol/syntax.ts';
import {
  headerOf,
  headersOf,
  type NatsConnection,
  type NatsFacts,
  type NatsHeaders,
  type NatsMessage,
  type NatsSubscription,
} from '../connection/connection.ts';
import { AnswerLimit } from '../pace.ts';
import { hasSubject, mayAnswer } from '../subjects.ts';

export interface EndpointsOptions
  extends Pick<Config, 'forwardHeaders' | 'maxBodyBytes' | 'maxDepth' | 'natsReplyPrefixes'> {
  readonly connection: NatsConnection;
  readonly service: Service;
  readonly authenticate: Authenticator<NatsFacts> | undefined;
  /** Who answers, as clients of micro services see it: a name, a semantic version, an ISO 8601 date. */
  readonly name: string;
  readonly id: string;
  readonly version: string;
  readonly started: string;
  readonly served: () => { readonly names: readonly string[]; readonly contract: string };
}

const queueGroup = 'q';

const verbs = ['PING', 'INFO', 'STATS'] as const;
type Verb = (typeof verbs)[number];

/**
 * A member as a micro service of NATS: any client calls procedures by their subjects, and finds the service with the tools
 * of NATS. Each procedure has a subscription of its own, so that a call never comes to a member that lacks the procedure.
 *
 * Not by the package @nats-io/services: it answers at whatever subject a caller names, without a limit of answers; a list that is
 * longer than a message rejects unhandled; it ends when one endpoint goes; and it counts neither asynchronous errors nor their time.
 */
export class Endpoints {
  readonly options: EndpointsOptions;
  readonly #procedures = new Map<string, Endpoint>();
  readonly #rpc: Endpoint;
  readonly #controls: NatsSubscription[];
  /** A list of ten thousand procedures takes milliseconds to write, and is as long as a message may be. */
  readonly #answers = new AnswerLimit(1024 ** 2);
  #inFlight = 0;
  readonly #vacancy = new Vacancy();
  #draining: Promise<void> | undefined;

  constructor(options: EndpointsOptions) {
    this.options = options;
    const { connection, name, id } = options;
    this.#rpc = new Endpoint(this, `${name}.rpc`, undefined);
    this.renew();
    this.#controls = verbs.flatMap((verb) =>
      [`$SRV.${verb}`, `$SRV.${verb}.${name}`, `$SRV.${verb}.${name}.${id}`].map((subject) =>
        connection.subscribe(subject, (message) => this.#control(verb, message)),
      ),
    );
  }

  /** Other modules serve from now on: procedures have come or gone. */
  renew(): void {
    if (this.#draining !== undefined) return;
    const { name: service, served } = this.options;
    const names = new Set(served().names.filter(hasSubject));
    for (const [name, endpoint] of this.#procedures) {
      if (names.has(name)) continue;
      this.#procedures.delete(name);
      void endpoint.drain();
    }
    for (const name of names) {
      if (this.#procedures.has(name)) continue;
      this.#procedures.set(name, new Endpoint(this, `${service}.call.${name}`, name));
    }
  }

  /** Takes nothing new. Resolves when what has come is answered. Idempotent; never rejects. */
  drain(): Promise<void> {
    this.#draining ??= this.#drain();
    return this.#draining;
  }

  onRequest(): void {
    this.#inFlight++;
  }

  onAnswered(): void {
    this.#inFlight--;
    if (this.#inFlight === 0) this.#vacancy.tell();
  }

  async #drain(): Promise<void> {
    const endpoints = [...this.#procedures.values(), this.#rpc, ...this.#controls];
    await Promise.all(endpoints.map((endpoint) => endpoint.drain()));
    if (this.#inFlight > 0) await this.#vacancy.within(Number.POSITIVE_INFINITY);
  }

  #control(verb: Verb, { reply = '' }: NatsMessage): void {
    const { connection, natsReplyPrefixes } = this.options;
    if (!mayAnswer(reply, natsReplyPrefixes) || this.#answers.isReached) return;
    const text = this.#text(verb);
    this.#answers.note(text.length);
    connection.publish(reply, text);
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
   * An answer with a list of endpoints, cut at the size of one message: a longer answer would not be sent at all. `tandem-omitted` says how many endpoints are missing.
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
  /** As callers know it; `rpc` for whole requests. */
  readonly #name: string;
  /** undefined: messages are whole requests. */
  readonly #head: RequestHead | undefined;
  #requests = 0;
  #errors = 0;
  /** `-32602:Invalid params`; the empty text: none. */
  #lastError = '';
  /** Milliseconds from receipt to answer, of all requests together. */
  #ms = 0;
  readonly #endpoints: Endpoints;
  readonly #subscription: NatsSubscription;

  /** @param procedure that messages call with their params; undefined: a message is a whole JSON-RPC request or batch */
  constructor(endpoints: Endpoints, subject: string, procedure: string | undefined) {
    this.#endpoints = endpoints;
    this.#subject = subject;
    this.#name = procedure ?? 'rpc';
    this.#head = procedure === undefined ? undefined : requestHead(procedure);
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
    const receivedAt = clockMs();
    const { reply: to = '', data } = message;
    const { service, authenticate, maxBodyBytes, maxDepth } = this.#endpoints.options;
    this.#requests++;
    this.#endpoints.onRequest();
    const head = this.#head;
    const pieces = head === undefined ? [data] : requestPieces(head, message, maxDepth);
    if (pieces === undefined) {
      this.#answer(to, errorAnswer(standardErrorText(ErrorCode.ParseError)), 0);
      return;
    }
    const finish = (reply: Reply): void => {
      const answer = head === undefined ? { data: reply ?? '' } : answerOf(reply);
      this.#answer(to, answer, clockMs() - receivedAt);
    };
    const length = pieces.reduce((sum, piece) => sum + piece.byteLength, 0);
    if (length > maxBodyBytes) {
      finish(errorReply('null', ErrorCode.LimitExceeded, { limit: maxBodyBytes }));
      return;
    }
    const limit = headerOf(message, 'rpc-timeout-ms');
    const timeoutMs = limit === '' ? undefined : parseTimeout(limit);
    const scope = new RequestScope(
      {
        headers: this.#forwarded(message),
        timeoutMs,
        traceparent: headerOf(message, 'traceparent') || undefined,
        tracestate: headerOf(message, 'tracestate') || undefined,
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
    for (const piece of pieces) body.add(piece);
    const onReply = (reply: Reply): void => {
      body.release();
      finish(reply);
    };
    service.handle(body.end(), scope, { onReply });
  }

  #forwarded(message: NatsMessage): Record<string, string> | undefined {
    const sent = this.#endpoints.options.forwardHeaders
      .map((name) => [name, headerOf(message, name)] as const)
      .filter(([, value]) => value !== '');
    return sent.length === 0 ? undefined : Object.fromEntries(sent);
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

const badTimeout: Outcome = errorOutcome(ErrorCode.InvalidRequest, { reason: badTimeoutReason });

function factsOf(message: NatsMessage): NatsFacts {
  return Object.freeze({
    headers: Object.freeze(headersOf(message)),
    remoteAddress: undefined,
    method: 'NATS',
    path: message.subject,
  });
}

/** The id of the requests that params are put into. */
const id = '1';
const paramsHead = Buffer.from(',"params":');
const end = Buffer.from('}');

type RequestHead = ReturnType<typeof requestHead>;

/** What stands before the params of a call, so that the whole is a JSON-RPC request. */
function requestHead(procedure: string) {
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
  { reply = '', data }: NatsMessage,
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

/** @param reply of a request that `requestPieces` made */
function answerOf(reply: Reply): ClientAnswer {
  if (reply === undefined) return { data: '' };
  const content = contentOf(id, reply);
  return 'error' in content ? errorAnswer(content.error) : { data: content.result };
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
