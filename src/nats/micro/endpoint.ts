import { ErrorCode, standardErrorText } from '../../jsonrpc/errors.ts';
import type { Reply } from '../../jsonrpc/reply.ts';
import type { NatsConnection, NatsMessage, NatsSubscription } from '../connection/connection.ts';
import {
  errorAnswer,
  type ForeignAnswer,
  frameOf,
  type RequestFrame,
  requestPieces,
  toForeign,
} from './foreign-answer.ts';
import { type ForeignContext, handleForeign } from './foreign-request.ts';
import { mayAnswer } from './names.ts';
import { type EndpointFigures, queueGroup } from './service-texts.ts';

/** Told of requests, so that a drain can wait for them. */
export interface EndpointOwner {
  onRequest(): void;
  onAnswered(): void;
}

/** Answers one subject, and counts. */
abstract class Endpoint implements EndpointFigures {
  readonly subject: string;
  readonly name: string;
  requests = 0;
  errors = 0;
  lastError = '';
  ms = 0;
  readonly #connection: NatsConnection;
  readonly #owner: EndpointOwner;
  readonly #subscription: NatsSubscription;

  constructor(connection: NatsConnection, owner: EndpointOwner, subject: string, name: string) {
    this.#connection = connection;
    this.#owner = owner;
    this.subject = subject;
    this.name = name;
    this.#subscription = connection.subscribe(subject, (message) => this.#onMessage(message), {
      queue: queueGroup,
    });
  }

  /** Resolves when every message that the server has sent was taken. Answers may be on their way. */
  drain(): Promise<void> {
    return this.#subscription.drain();
  }

  protected abstract handle(message: NatsMessage, answer: Answer): void;

  #onMessage(message: NatsMessage): void {
    const { reply } = message;
    this.requests++;
    this.#owner.onRequest();
    this.handle(message, (answer, ms) => {
      this.ms += ms;
      if (mayAnswer(reply)) this.#send(reply, answer);
      if (answer.error !== undefined) {
        this.errors++;
        this.lastError = answer.error;
      }
      this.#owner.onAnswered();
    });
  }

  #send(reply: string, answer: ForeignAnswer): void {
    if (this.#connection.publish(reply, answer.data, options(answer))) return;
    if (!this.#connection.connected) return;
    // These answers do not travel in parts.
    const limit = this.#connection.maxPayload;
    const refusal = errorAnswer(standardErrorText(ErrorCode.LimitExceeded, { limit }));
    this.#connection.publish(reply, refusal.data, options(refusal));
  }
}

type Answer = (answer: ForeignAnswer, ms: number) => void;

function options({ headers }: ForeignAnswer): { headers?: NonNullable<typeof headers> } {
  return headers === undefined ? {} : { headers };
}

/** Params in, result out. */
export class ProcedureEndpoint extends Endpoint {
  readonly #context: ForeignContext;
  readonly #frame: RequestFrame;

  constructor(
    context: ForeignContext,
    connection: NatsConnection,
    owner: EndpointOwner,
    service: string,
    procedure: string,
  ) {
    super(connection, owner, `${service}.call.${procedure}`, procedure);
    this.#context = context;
    this.#frame = frameOf(procedure);
  }

  protected override handle(message: NatsMessage, answer: Answer): void {
    const head = message.reply === '' ? this.#frame.notification : this.#frame.call;
    const pieces = requestPieces(head, message.data, this.#context.maxDepth);
    if (pieces === undefined) {
      answer(errorAnswer(standardErrorText(ErrorCode.ParseError)), 0);
      return;
    }
    handleForeign(this.#context, message, pieces, (reply, ms) => answer(toForeign(reply), ms));
  }
}

/** JSON-RPC in and out. Its errors are replies like others. */
export class RpcEndpoint extends Endpoint {
  readonly #context: ForeignContext;

  constructor(
    context: ForeignContext,
    connection: NatsConnection,
    owner: EndpointOwner,
    service: string,
  ) {
    super(connection, owner, `${service}.rpc`, 'rpc');
    this.#context = context;
  }

  protected override handle(message: NatsMessage, answer: Answer): void {
    handleForeign(this.#context, message, [message.data], (reply: Reply, ms) =>
      answer({ data: reply ?? '' }, ms),
    );
  }
}
