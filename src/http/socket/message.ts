import type { ReplySink } from '../../dispatch/reply-sink.ts';
import type { RequestBody } from '../../dispatch/request-body.ts';
import type { RequestScope } from '../../dispatch/scope.ts';
import type { StreamCall, StreamHost, StreamSink } from '../../dispatch/streams/contract.ts';
import type { Outcome, Reply } from '../../jsonrpc/reply.ts';
import type { MessageSpan } from './span.ts';
import { Subscription } from './subscription.ts';

/** What a message needs of its connection. */
export interface MessageOwner {
  onAnswer(message: SocketMessage, reply: Reply): void;
  /** See {@link StreamHost}. */
  acceptStream(call: StreamCall): Subscription | Outcome;
  readonly unsubscribe: (id: string) => boolean;
}

/** One message of a client, which is a request, until its answer is there. */
export class SocketMessage implements ReplySink, StreamHost {
  readonly scope: RequestScope;
  readonly span: MessageSpan | undefined;
  /** Why the service has refused the whole message, or has failed under it; undefined: neither. */
  failure: number | undefined;
  readonly #body: RequestBody;
  readonly #owner: MessageOwner;
  /** Those that its calls may open. */
  #subscriptions: Subscription[] | undefined;

  constructor(
    owner: MessageOwner,
    scope: RequestScope,
    body: RequestBody,
    span: MessageSpan | undefined,
  ) {
    this.#owner = owner;
    this.scope = scope;
    this.#body = body;
    this.span = span;
  }

  onReply(reply: Reply): void {
    this.#body.release();
    this.#owner.onAnswer(this, reply);
  }

  accept(call: StreamCall): StreamSink | Outcome {
    const accepted = this.#owner.acceptStream(call);
    if (accepted instanceof Subscription) {
      this.#subscriptions ??= [];
      this.#subscriptions.push(accepted);
    }
    return accepted;
  }

  get unsubscribe(): (id: string) => boolean {
    return this.#owner.unsubscribe;
  }

  /** The answer is sent, which names the subscriptions: their values may follow. */
  begin(): void {
    for (const subscription of this.#subscriptions ?? []) subscription.begin();
  }
}
