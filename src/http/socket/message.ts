import type { ReplySink } from '../../dispatch/reply-sink.ts';
import type { RequestBody } from '../../dispatch/request-body.ts';
import type { RequestScope } from '../../dispatch/scope.ts';
import type { Reply } from '../../jsonrpc/reply.ts';
import type { MessageSpan } from './span.ts';

/** Who is told of the answer of a message. */
export interface Answered {
  onAnswer(message: SocketMessage, reply: Reply): void;
}

/** One message of a client, which is a request, until its answer is there. */
export class SocketMessage implements ReplySink {
  readonly scope: RequestScope;
  readonly span: MessageSpan | undefined;
  readonly #body: RequestBody;
  readonly #connection: Answered;

  constructor(
    connection: Answered,
    scope: RequestScope,
    body: RequestBody,
    span: MessageSpan | undefined,
  ) {
    this.#connection = connection;
    this.scope = scope;
    this.#body = body;
    this.span = span;
  }

  onReply(reply: Reply): void {
    this.#body.release();
    this.#connection.onAnswer(this, reply);
  }
}
