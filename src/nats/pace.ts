import { mostUnitBytes } from '../jsonrpc/utf8.ts';

/** Bytes that may be on their way to the server: small messages of others must not wait behind more. */
export const unflushedBytes = 512 * 1024;

/** Most bytes of a message beside texts, bodies and facts: its mark, its subject, its headers. */
const headBytes = 1024;

/** A server that takes less is refused at the start, bytes: heads, and what is known of requests, must fit. */
export const leastPayload = 8 * 1024;

/** How large messages between gateways and members are, by what their server takes. */
export interface MessageSizes {
  /** What the server takes, bytes. */
  readonly maxPayload: number;
  /** Texts that share a message, UTF-16 units: a longer one goes as bytes, in messages of its own. */
  readonly sharedLength: number;
  /** A frame whose group would be cut at `sharedLength`, UTF-16 units. */
  readonly frameLength: number;
  /** Bytes of one part of a large body, or reply. */
  readonly partBytes: number;
  /** A reply of more bytes is cut into parts. */
  readonly wholeBytes: number;
  /** Bytes of the facts of one call, which stand beside a part. */
  readonly factsBytes: number;
  /** Bytes of one part of a document. */
  readonly documentBytes: number;
  /** Numbers of each list of an acknowledgement: threes, as of streams. */
  readonly listed: number;
}

let known: MessageSizes | undefined;

/** The sizes for what a server takes: nearly always those that were asked for last. */
export function sizesFor(maxPayload: number): MessageSizes {
  if (known?.maxPayload !== maxPayload) known = madeFor(maxPayload);
  return known;
}

function madeFor(maxPayload: number): MessageSizes {
  const room = maxPayload - headBytes;
  const units = Math.floor(room / mostUnitBytes);
  const half = Math.floor(room / 2);
  return {
    maxPayload,
    sharedLength: Math.min(128 * 1024, units),
    frameLength: Math.min(256 * 1024, units),
    partBytes: Math.min(128 * 1024, half),
    wholeBytes: Math.min(256 * 1024, room),
    factsBytes: half,
    documentBytes: Math.min(512 * 1024, room),
    // Three lists, of numbers of 17 digits with their commas.
    listed: 3 * Math.floor(room / (3 * 3 * 18)),
  };
}

/**
 * Calls `act` when all sockets have been looked at once more, without waiting for any. A message costs its sender, the server and
 * its receiver more than the calls in it, so what that look brings shares one.
 */
export function afterNextLook(act: () => void): void {
  setImmediate(setImmediate, act);
}
