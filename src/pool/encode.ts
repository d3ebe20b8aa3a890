import { type Call, unparsed } from '../dispatch/call.ts';
import { noHeaders, type RequestScope } from '../dispatch/scope.ts';
import type { RequestFacts } from '../router/lazy-context.ts';
import { type Frame, largeText } from './wire.ts';

/**
 * Adds a call to a frame as it crosses to a worker: its params as they came, small ones as text, large
 * ones as bytes. The order of the items is that of `FrameEntry`.
 */
export function pushCall(
  frame: Frame,
  call: Call,
  ticket: number,
  follows: number,
  timeoutMs: number,
): void {
  const { scope } = call;
  frame.push(ticket, follows, call.procedure.name, call.id);
  pushParams(frame, call);
  frame.push(timeoutMs, scope.expiresAt, factsOf(scope));
}

function pushParams(frame: Frame, { params, source, start, end }: Call): void {
  if (params === undefined || source === undefined) {
    frame.push(params === undefined ? undefined : shareIfLarge(JSON.stringify(params)), -1, -1);
  } else if (typeof source !== 'string') {
    frame.push(share(source), start, end);
  } else if (params !== unparsed) {
    // Parsed already, so a part of a body that is known to be JSON: that part is enough.
    frame.push(shareIfLarge(source.slice(start, end)), -1, -1);
  } else if (source.length <= largeText || !source.isWellFormed()) {
    frame.push(source, start, end);
  } else {
    // What surrounds the params of an unparsed call is ASCII (the quick reader saw to it).
    const bytes = share(source);
    frame.push(bytes, start, bytes.byteLength - (source.length - end));
  }
}

function shareIfLarge(text: string): string | SharedArrayBuffer {
  // A lone surrogate, which UTF-8 can't hold, crosses in a string only.
  return text.length > largeText && text.isWellFormed() ? share(text) : text;
}

/**
 * Shared, not transferred: the front end keeps hold of the bytes, so that a call which comes back from a
 * lost worker before it started can be sent to another.
 */
function share(data: string | Uint8Array): SharedArrayBuffer {
  if (typeof data === 'string') {
    const shared = new SharedArrayBuffer(Buffer.byteLength(data));
    Buffer.from(shared).write(data);
    return shared;
  }
  const { buffer, byteOffset, byteLength } = data;
  if (buffer instanceof SharedArrayBuffer && byteOffset === 0 && byteLength === buffer.byteLength) {
    return buffer;
  }
  const shared = new SharedArrayBuffer(byteLength);
  new Uint8Array(shared).set(data);
  return shared;
}

function factsOf({ headers, remoteAddress, auth }: RequestScope): RequestFacts | undefined {
  if (headers === noHeaders && remoteAddress === undefined && auth === undefined) return undefined;
  return { headers, remoteAddress, auth };
}
