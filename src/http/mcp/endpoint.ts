import type { GoesToSink } from '../../dispatch/reply-sink.ts';
import { goesToSink } from '../../dispatch/reply-sink.ts';
import type { RequestScope } from '../../dispatch/scope.ts';
import { type Fault, isFault, type McpAnswer, type McpSink } from '../../mcp/answer.ts';
import type { EventTexts, McpClient, McpHead } from '../../mcp/client.ts';
import type { McpServer } from '../../mcp/server.ts';
import { statusOfService } from '../edge/admission.ts';
import { type Answer, jsonAnswer } from '../edge/answer.ts';
import type { BodyAnswer, BodyHandler, BodySink } from '../edge/body-handler.ts';
import type { RequestHead } from '../edge/request-head.ts';
import { EventStream } from '../event-stream/event-stream.ts';
import { eventText } from '../event-stream/event-text.ts';
import { withoutNullId } from './rejection.ts';

/** Every header that repeats something of the body is missing. */
const noHead: McpHead = { version: undefined, method: undefined, name: undefined };

/** The answer to a notification, whether it had an effect or not. */
const accepted: Answer = { status: 202, headers: [], body: '', close: false };

/** Answers one POST on the path of MCP. */
export class McpExchange implements BodyHandler, McpSink {
  readonly #server: McpServer;
  readonly #head: McpHead;
  #sink: BodySink | undefined;
  /** Of the reply, where the client takes events. */
  #events: EventStream | undefined;

  /** @param head read here: it is used again for the next request */
  constructor(server: McpServer, { mcp }: RequestHead) {
    this.#server = server;
    this.#head =
      mcp === undefined ? noHead : { version: mcp.version, method: mcp.method, name: mcp.name };
  }

  handle(body: string | Uint8Array, scope: RequestScope): BodyAnswer | Promise<BodyAnswer>;
  handle(
    body: string | Uint8Array,
    scope: RequestScope,
    sink: BodySink | undefined,
  ): BodyAnswer | Promise<BodyAnswer> | GoesToSink;
  handle(
    body: string | Uint8Array,
    scope: RequestScope,
    sink?: BodySink,
  ): BodyAnswer | Promise<BodyAnswer> | GoesToSink {
    const events = scope.streams instanceof EventStream ? scope.streams : undefined;
    this.#events = events;
    const client: McpClient = {
      head: this.#head,
      events: events && ((texts) => withTexts(events, texts)),
      outlet: undefined,
    };
    this.#sink = sink;
    const answer = this.#server.handle(body, scope, client, sink === undefined ? undefined : this);
    if (answer === goesToSink) return goesToSink;
    return answer instanceof Promise
      ? answer.then((settled) => this.#toAnswer(settled))
      : this.#toAnswer(answer);
  }

  /** See {@link McpSink}. */
  onReply(answer: McpAnswer): void {
    this.#sink?.onReply(this.#toAnswer(answer));
  }

  reword(answer: Answer): Answer {
    return withoutNullId(answer);
  }

  #toAnswer(answer: McpAnswer): BodyAnswer {
    if (answer === undefined) return this.#events?.isOpen === true ? undefined : accepted;
    return isFault(answer) ? faultAnswer(answer) : answer;
  }
}

function withTexts(events: EventStream, texts: EventTexts): EventStream {
  events.format = {
    before: 'data: ',
    behind: '\n\n',
    value: (value) => texts.note(value),
    end: (outcome) => eventText(texts.end(outcome)),
  };
  return events;
}

const noStore = ['cache-control', 'no-store'];

function faultAnswer({ fault, code, text }: Fault): Answer {
  switch (fault) {
    case 'malformed':
      return jsonAnswer(400, text);
    case 'unknown-method':
      return jsonAnswer(404, text);
    case 'refused':
      return refusedAnswer(code, text);
  }
}

/** 401 tells a client to log in, which in this protocol is always done with a bearer token. */
function refusedAnswer(code: number, text: string): Answer {
  const status = statusOfService(code);
  return status === undefined
    ? jsonAnswer(401, text, ['www-authenticate', 'Bearer', ...noStore])
    : jsonAnswer(status, text, noStore);
}
