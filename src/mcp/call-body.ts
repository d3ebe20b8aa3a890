import type { MemberPlace } from '../jsonrpc/exact/members.ts';
import type { Message, Source } from './message.ts';
import type { Tool } from './tool.ts';

const SPACE = 0x20;
const CLOSE_BRACE = 0x7d;

/**
 * The request of JSON-RPC that a call of a tool stands for. The arguments are what they were, to the letter.
 *
 * A large body is rewritten where it lies, in the buffer that a worker will read it from:
 *
 *     {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"thumb","arguments":{ ... megabytes ... }}}
 *                           {"jsonrpc":"2.0","id":1,"method":"thumb","params":{ ... megabytes ... }}
 *
 * @param mayRewrite whether nothing else of the body will be read
 */
export function callBody(
  source: Source,
  message: Message,
  tool: Tool,
  mayRewrite: boolean,
): Source {
  const { id = 'null', arguments: given } = message;
  const head = `{"jsonrpc":"2.0","id":${id},"method":"${tool.procedure.name}"`;
  if (given === 'none' || given === 'wrong') return `${head}}`;
  const { start, end } = given;
  if (typeof source === 'string') return `${head},"params":${source.slice(start, end)}}`;
  const whole = Buffer.from(`${head},"params":`);
  if (mayRewrite && whole.length + (end - start) + 1 <= source.byteLength) {
    return rewritten(source, given, whole);
  }
  return Buffer.concat([whole, source.subarray(start, end), Buffer.from('}')]);
}

function rewritten(body: Uint8Array, { start, end }: MemberPlace, head: Uint8Array): Uint8Array {
  // Most clients send the arguments behind enough else that they can stay where they are.
  const at = Math.max(start, head.length);
  const isMoved = at + (end - start) + 1 > body.byteLength;
  const paramsStart = isMoved ? body.byteLength - 1 - (end - start) : at;
  if (paramsStart !== start) body.copyWithin(paramsStart, start, end);
  const headStart = paramsStart - head.length;
  const paramsEnd = paramsStart + (end - start);
  body.set(head, headStart);
  body.fill(SPACE, 0, headStart);
  body[paramsEnd] = CLOSE_BRACE;
  body.fill(SPACE, paramsEnd + 1);
  return body;
}
