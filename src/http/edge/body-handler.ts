import type { GoesToSink } from '../../dispatch/reply-sink.ts';
import type { RequestScope } from '../../dispatch/scope.ts';
import type { Reply } from '../../jsonrpc/reply.ts';
import type { Answer } from './answer.ts';

/** What the body of a request is answered with: a reply by 200 (undefined: 204), or what has a status of its own. */
export type BodyAnswer = Reply | Answer;

/** Takes the answer in place of a promise. */
export interface BodySink {
  onReply(answer: BodyAnswer): void;
}

/** Answers the bodies of requests: the service itself, or a protocol on top of it. Never throws, never rejects. */
export interface BodyHandler {
  handle(body: string | Uint8Array, scope: RequestScope): BodyAnswer | Promise<BodyAnswer>;
  handle(
    body: string | Uint8Array,
    scope: RequestScope,
    sink: BodySink | undefined,
  ): BodyAnswer | Promise<BodyAnswer> | GoesToSink;
  /** Puts the refusals of this edge into the protocol's own words. */
  readonly reword?: ((answer: Answer) => Answer) | undefined;
}

export function isAnswer(answer: BodyAnswer): answer is Answer {
  return typeof answer === 'object' && 'status' in answer;
}
