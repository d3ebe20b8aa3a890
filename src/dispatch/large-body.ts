import { isUtf8 } from 'node:buffer';
import { type ScannedEnvelope, scanEnvelope } from '../jsonrpc/scan.ts';

/**
 * Bodies above this many bytes are not made into a string on the front end when they go to a worker:
 * below it a string crosses threads faster than bytes, above it the string's copying shows.
 */
export const largeBody = 64 * 1024;

/** The body for later: a transport's view of a small one ends with its call of `handle`. */
export function keepBody(body: string | Uint8Array): string | Uint8Array {
  return typeof body === 'string' || body.byteLength > largeBody ? body : new Uint8Array(body);
}

/** The members around the params must stand within this many bytes of either end. */
const windowBytes = 2048;

/**
 * The quick envelope of a large body, read from its two ends only. Latin-1 keeps one character per byte,
 * so the offsets are the body's own; the quick reader refuses what is not ASCII.
 */
export function scanLargeBody(body: Uint8Array, strict: boolean): ScannedEnvelope | undefined {
  const buffer = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const head = buffer.toString('latin1', 0, windowBytes);
  const tailOffset = buffer.length - windowBytes;
  const tail = buffer.toString('latin1', tailOffset);
  const quick = scanEnvelope(head, tail, tailOffset, strict);
  return quick !== undefined && isUtf8(buffer) ? quick : undefined;
}
