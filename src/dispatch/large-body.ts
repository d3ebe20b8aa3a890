import { isUtf8 } from 'node:buffer';
import { largeBody } from '../jsonrpc/body.ts';
import { type ScannedEnvelope, scanEnvelope } from '../jsonrpc/quick/scan.ts';

/** The body as it may be kept: a transport lends a small body only until `handle` returns. */
export function keepBody(body: string | Uint8Array): string | Uint8Array {
  return typeof body === 'string' || body.byteLength > largeBody ? body : new Uint8Array(body);
}

/** The members around the params must stand within so many bytes, or characters, of either end. */
const windowLength = 2048;

/**
 * The quick envelope of a large body, read from its two ends only. Latin-1 keeps one character per byte,
 * so the offsets are the body's own; the quick reader refuses what is not ASCII.
 *
 * One without an id may have it behind the params, where the quick reader does not see it: only the exact
 * one can tell. A search for it in all of the body may take longer than that.
 */
export function scanLargeBody(
  body: string | Uint8Array,
  strict: boolean,
): ScannedEnvelope | undefined {
  const offset = body.length - windowLength;
  if (typeof body === 'string') {
    return scanEnvelope(body.slice(0, windowLength), body.slice(offset), offset, strict);
  }
  const buffer = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const head = buffer.toString('latin1', 0, windowLength);
  const quick = scanEnvelope(head, buffer.toString('latin1', offset), offset, strict);
  return quick !== undefined && isUtf8(buffer) ? quick : undefined;
}
