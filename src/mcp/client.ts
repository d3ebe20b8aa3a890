import type { GoesToSink } from '../dispatch/reply-sink.ts';
import type { RequestScope } from '../dispatch/scope.ts';
import type { StreamHost } from '../dispatch/streams/contract.ts';
import type { Outcome } from '../jsonrpc/reply.ts';
import type { McpAnswer, McpSink } from './answer.ts';
import type { Message, Source } from './message.ts';
import type { ProgressOutlet } from './tool-stream.ts';

/** What a transport with headers was told in front of the body: it must be what the body says. */
export interface McpHead {
  readonly version: string | undefined;
  readonly method: string | undefined;
  readonly name: string | undefined;
}

/** How a call that streams is written into a reply of events. */
export interface EventTexts {
  /** The notification that a value becomes. */
  note(value: string): string;
  /** The reply. */
  end(outcome: Outcome): string;
}

/** A client, as its transport knows it. */
export interface McpClient {
  /** Undefined: the transport has no headers. */
  readonly head: McpHead | undefined;
  /**
   * Makes the reply to the request a stream of events: notifications, then the response. Undefined: the client takes a
   * response alone.
   */
  readonly events: ((texts: EventTexts) => StreamHost) | undefined;
  /** Takes notifications beside the reply; undefined: there is no way for them. */
  readonly outlet: ProgressOutlet | undefined;
  /** Told the id of a request, JSON text, where the client may cancel it by a message of its own. */
  readonly begin?: ((id: string) => void) | undefined;
  /** The client does not wait for that request any more. */
  readonly cancel?: ((id: string) => void) | undefined;
}

/** A request on its way. */
export interface Asked {
  readonly message: Message;
  /** JSON text. */
  readonly id: string;
  /** The body that the message stands in. */
  readonly source: Source;
  readonly scope: RequestScope;
  readonly client: McpClient;
  /** May get the answer in place of a promise; undefined: it is returned, or promised. */
  readonly sink: McpSink | undefined;
  /** Whether the body holds nothing else, so that it may be rewritten. */
  readonly isAlone: boolean;
  /** Whether somebody decided who calls: what this caller is told is then not for others. */
  readonly isPrivate: boolean;
}

export type Answered = McpAnswer | Promise<McpAnswer> | GoesToSink;
