import { goesToSink, type ReplySink } from '../dispatch/reply-sink.ts';
import type { Service } from '../dispatch/service.ts';
import type { Outcome, Reply } from '../jsonrpc/reply.ts';
import type { McpAnswer, McpSink } from './answer.ts';
import { callBody } from './call-body.ts';
import type { Answered, Asked } from './client.ts';
import { longToolReply } from './long-result.ts';
import { ProgressNotes } from './progress.ts';
import { outcomeOf, type ToolReply, toolReply } from './tool-result.ts';
import { StreamedResult, ToolStream } from './tool-stream.ts';

/** One call of a tool: goes to the service as the call of its procedure, and comes back as a result of MCP. */
export class ToolCall implements ReplySink {
  readonly #call: ToolReply;
  readonly #service: Service;
  #sink: McpSink | undefined;
  /** Of a call whose stream is read here. */
  #stream: { readonly reader: ToolStream; readonly ended: Promise<McpAnswer> } | undefined;

  constructor(call: ToolReply, service: Service) {
    this.#call = call;
    this.#service = service;
  }

  run(asked: Asked): Answered {
    const { source, message, scope, sink, isAlone } = asked;
    const { tool } = this.#call;
    if (tool.procedure.stream !== undefined) this.#readStream(asked);
    const body = callBody(source, message, tool, isAlone);
    if (sink === undefined) return this.#answerOf(this.#service.handle(body, scope));
    this.#sink = sink;
    const reply = this.#service.handle(body, scope, this);
    return reply === goesToSink ? reply : this.#answerOf(reply);
  }

  /** See {@link ReplySink}. */
  onReply(reply: Reply): void {
    const answer = this.#toAnswer(reply);
    if (answer instanceof Promise) void answer.then((settled) => this.#sink?.onReply(settled));
    else this.#sink?.onReply(answer);
  }

  #answerOf(reply: Reply | Promise<Reply>): McpAnswer | Promise<McpAnswer> {
    return reply instanceof Promise
      ? reply.then((settled) => this.#toAnswer(settled))
      : this.#toAnswer(reply);
  }

  #toAnswer(reply: Reply): McpAnswer | Promise<McpAnswer> {
    if (typeof reply === 'string') return toolReply(this.#call, outcomeOf(this.#call.id, reply));
    if (reply !== undefined) return longToolReply(this.#call, reply);
    // The stream has opened: its end is the answer, or the transport writes all of it.
    return this.#stream?.reader.hasOpened === true ? this.#stream.ended : undefined;
  }

  #readStream({ message, scope, client }: Asked): void {
    const { tool, style } = this.#call;
    const token = message.meta?.progressToken;
    const notes = token === undefined ? undefined : new ProgressNotes(token);
    const result = new StreamedResult(tool.procedure, notes, style.maxReplyBytes);
    const end = (outcome: Outcome): string => toolReply(this.#call, result.outcome(outcome));
    if (notes !== undefined && client.events !== undefined) {
      const note = (value: string): string => {
        result.add(value);
        return notes.notification(value);
      };
      scope.streams = client.events({ note, end });
      return;
    }
    let settle: (answer: McpAnswer) => void = () => {};
    const ended = new Promise<McpAnswer>((resolve) => {
      settle = resolve;
    });
    const reader = new ToolStream(result, client.outlet, (outcome) => settle(end(outcome)));
    this.#stream = { reader, ended };
    scope.streams = reader;
  }
}
