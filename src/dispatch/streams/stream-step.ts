import { ErrorCode } from '../../jsonrpc/errors.ts';
import { type Outcome, replyText } from '../../jsonrpc/reply.ts';
import type { StreamRules } from '../../router/types.ts';
import type { Call } from '../call.ts';
import type { CallEnding } from '../call-ending.ts';
import type { Executor } from '../executor.ts';
import { neverRan } from '../observer.ts';
import type { Step } from '../sequence.ts';
import { CollectingExecutor } from './collector.ts';
import type { StreamSink } from './contract.ts';
import type { OpenStreams } from './open-streams.ts';

/** Why a stream is not given to a caller that reads replies only. */
const reason = 'it streams: accept text/event-stream, or use WebSocket';

/**
 * The step of a call whose procedure streams: with the sink of its reader; collected into an array, where nobody can read
 * the stream and the procedure allows that; else refused. A notification has no reader: it does not run.
 *
 * @param streams those that are open
 * @param isAlone the request is no batch
 * @param unplaced reports the call that does not run
 */
export function toStreamStep(
  step: { readonly call: Call; readonly executor: Executor },
  { collect }: StreamRules,
  streams: OpenStreams,
  isAlone: boolean,
  unplaced: CallEnding,
): Step {
  const { call, executor } = step;
  if (call.id === undefined) {
    return { call: undefined, reply: unplaced.refuse(call, { code: ErrorCode.MethodNotFound }) };
  }
  const { refusal } = streams;
  if (refusal !== undefined) return { call: undefined, reply: unplaced.refuse(call, refusal) };
  const accepted = call.scope.streams?.accept(call, isAlone);
  if (accepted === undefined) {
    if (collect) {
      return { call, executor: new CollectingExecutor(executor, unplaced.maxReplyBytes) };
    }
    const data = { method: call.procedure.name, reason };
    const reply = unplaced.refuse(call, { code: ErrorCode.MethodNotFound, data });
    return { call: undefined, reply };
  }
  if (isSink(accepted)) return { call: { ...call, sink: accepted }, executor };
  const text = replyText(call.id, accepted);
  return { call: undefined, reply: unplaced.pass(call, text, accepted.code, neverRan) };
}

function isSink(accepted: StreamSink | Outcome): accepted is StreamSink {
  return 'opened' in accepted;
}
