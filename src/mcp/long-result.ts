import { ErrorCode } from '../jsonrpc/errors.ts';
import {
  contentStart,
  headOf,
  outcomeOf,
  structuredPart,
  type ToolReply,
  tooLarge,
  toolReply,
} from './tool-result.ts';

/** Bytes of a text that are quoted in one turn of the event loop, in which nobody else is served. */
const sliceBytes = 128 * 1024;

const QUOTE = 0x22;

/**
 * As `toolReply`, for a reply of the service that came as bytes since it is long. The result stands in the reply twice, as
 * a text and as a value; it is never made a string, and quoted in slices between which calls run.
 */
export async function longToolReply(
  call: ToolReply,
  reply: Uint8Array,
): Promise<string | Uint8Array> {
  const { id, style, tool } = call;
  const bytes = Buffer.from(reply.buffer, reply.byteOffset, reply.byteLength);
  const head = Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":`);
  // Errors are hardly ever so long that they would be worth slices.
  if (!bytes.subarray(0, head.length).equals(head)) {
    return toolReply(call, outcomeOf(id, bytes.toString()));
  }
  const text = bytes.subarray(head.length, -1);
  const isString = text[0] === QUOTE;
  const asItIs =
    tool.procedure.tool === 'content' &&
    text.toString('latin1', 0, contentStart.length) === contentStart;
  const { era, tail, maxReplyBytes } = style;
  const parts: (string | Buffer)[] = [`{"jsonrpc":"2.0","id":${id},"result":${headOf(era)}`];
  if (asItIs) {
    parts.push(text.subarray(1, -1));
  } else {
    parts.push('"content":[{"type":"text","text":');
    if (isString) parts.push(text);
    else parts.push('"', ...(await quoted(text)), '"');
    parts.push('}]');
    if (tool.isStructured) {
      const [before = '', after = ''] = structuredPart(tool, era, '|').split('|');
      parts.push(before, text, after);
    }
  }
  parts.push(`${tail}}}`);
  let length = 0;
  for (const part of parts) length += Buffer.byteLength(part);
  if (length > maxReplyBytes) {
    const error = { ok: false, code: ErrorCode.LimitExceeded, text: tooLarge(style) };
    return toolReply(call, error);
  }
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
}

/** JSON text as the inside of a JSON string. */
async function quoted(text: Buffer): Promise<Buffer[]> {
  const slices: Buffer[] = [];
  for (let start = 0; start < text.length; start += sliceBytes) {
    if (start > 0) await new Promise((resolve) => setImmediate(resolve));
    // One character a byte: what must be quoted is ASCII, and no byte within a longer character looks like it.
    const slice = text.toString('latin1', start, start + sliceBytes);
    slices.push(Buffer.from(JSON.stringify(slice).slice(1, -1), 'latin1'));
  }
  return slices;
}
