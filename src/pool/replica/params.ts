import { exceedsDepth } from '../../jsonrpc/depth.ts';
import { isInvalid, verified } from '../../jsonrpc/envelope.ts';
import type { ErrorCode } from '../../jsonrpc/errors.ts';
import { readBody } from '../../jsonrpc/read.ts';
import { errorReply } from '../../jsonrpc/reply.ts';
import type { FrameEntry } from '../wire/frame.ts';
import type { ReplicaOptions } from '../wire/messages.ts';

/** The parsed params of a call, or the reply that ends it. */
export type ReadParams =
  | { readonly reply: undefined; readonly params: unknown; readonly id: string | undefined }
  | { readonly reply: string; readonly code: ErrorCode };

/**
 * Parses a call's params in the worker, where broken params cost the front end nothing. The front end has read only
 * the envelope around them. Where the params turn out not to be one JSON value, the exact reader decides on the whole
 * body, as it does on the front end for an inline call.
 */
export function readParams(entry: FrameEntry, options: ReplicaOptions): ReadParams {
  const { source, start, end, id } = entry;
  if (source === undefined) return { reply: undefined, params: undefined, id };
  // The source is the params alone: a part of a body that the front end has read whole.
  if (end === -1) return { reply: undefined, params: JSON.parse(textOf(source)), id };
  const text =
    typeof source === 'string'
      ? source.slice(start, end)
      : bytesOf(source).toString('utf8', start, end);
  // The limit is one less than for the body: the params stand one level deep in it.
  if (!exceedsDepth(text, options.maxDepth - 1)) {
    try {
      const params: unknown = JSON.parse(text);
      if (typeof params === 'object' && params !== null) return { reply: undefined, params, id };
    } catch {
      // The params are not one JSON value: the exact reader decides.
    }
  }
  return readExactly(textOf(source), options);
}

function textOf(source: string | Uint8Array): string {
  return typeof source === 'string' ? source : bytesOf(source).toString('utf8');
}

function bytesOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

function readExactly(text: string, options: ReplicaOptions): ReadParams {
  const body = readBody(text, { ...options, maxBatch: 1 });
  if (body.kind === 'reply') return body;
  // The quick reader saw that the body is an object, so it can't be a batch.
  if (body.kind === 'batch') throw new Error('a single call was read as a batch');
  const { entry } = body;
  if (isInvalid(entry)) return { reply: errorReply(entry.id, entry.code), code: entry.code };
  const { id, params, paramsStart, paramsEnd } = entry;
  const isParsed = params !== verified;
  const value = isParsed ? params : (JSON.parse(text.slice(paramsStart, paramsEnd)) as unknown);
  return { reply: undefined, params: value, id };
}
