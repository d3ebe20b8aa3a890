import { type Outcome, type ReplyBytes, resultOutcome } from '../protocol/reply.ts';
import { fromBase64, toBase64 } from '../schema/bytes.ts';
import type { SchemaNode } from '../schema/model.ts';
import type { Procedure } from './types.ts';

/**
 * Bytes that travel beside the JSON of a call instead of in it, where base64 would take a third more memory and most of the
 * main thread's time: a transport whose protocol carries bytes sets this on the scope of a request that is one call. Only for
 * procedures of this process: what {@link bytesParamOf} and {@link returnsBytes} say.
 */
export interface RawBytes {
  /**
   * The value of the procedure's param that is bytes, which the params then lack; undefined: the params have all. Neither may
   * change until the call has its answer. Handlers get a copy.
   */
  readonly param: Uint8Array | undefined;
  /** Whether the result shall be bytes. The reply of a call that ends with code 0 is then these bytes, without an envelope. */
  readonly asResult: boolean;
}

/** The one param of a procedure that is bytes by its schema; undefined: none is, or several are. */
export function bytesParamOf({ params }: Procedure): string | undefined {
  const found = (params?.members ?? []).filter(({ node }) => isBytes(node));
  return found.length === 1 ? found[0]?.name : undefined;
}

/** Whether the whole result of a procedure is bytes by its schema. */
export function returnsBytes({ returns, stream }: Procedure): boolean {
  return stream === undefined && isBytes(returns);
}

function isBytes(node: SchemaNode | undefined): boolean {
  return node?.kind === 'bytes';
}

/**
 * Binds params, one of which came as bytes.
 *
 * @throws RpcError as `bindParams`
 */
export function bindWithBytes(
  procedure: Procedure,
  params: unknown,
  bytes: Uint8Array,
): Record<string, unknown> {
  const name = bytesParamOf(procedure) ?? '';
  const param = procedure.params?.members.find((member) => member.name === name)?.node;
  const most = param?.kind === 'bytes' ? param.maxBytes : undefined;
  // The refusal of bytes that are too many is that of base64.
  const isRefused = most !== undefined && bytes.byteLength > most;
  const named = procedure.bindParams({
    ...(params as object | undefined),
    [name]: isRefused ? toBase64(bytes) : '',
  });
  named[name] = new Uint8Array(bytes);
  return named;
}

/**
 * The outcome of a call whose caller takes bytes.
 *
 * @param toJson the outcome as JSON, base64: checked as any result
 */
export function bytesOutcome(
  { returns }: Procedure,
  result: unknown,
  toJson: () => Outcome,
): Outcome {
  const most = returns?.kind === 'bytes' ? returns.maxBytes : undefined;
  if (result instanceof Uint8Array && !(most !== undefined && result.byteLength > most)) {
    // A copy: the bytes leave this thread, and the handler may keep its own.
    return rawOutcome(new Uint8Array(result));
  }
  const outcome = toJson();
  return outcome.ok ? rawOutcome(fromBase64(JSON.parse(outcome.text) as string)) : outcome;
}

function rawOutcome(bytes: ReplyBytes): Outcome {
  return { ...resultOutcome(''), bytes };
}
