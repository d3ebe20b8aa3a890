/** Limits of the HTTP edge that are no options, each with its reason. */

/**
 * Characters of a reply that the system takes at once from a connection that waited for it: 12 KiB of
 * UTF-8 at most, where Linux begins with 16 KiB. A longer one may have to wait for its client.
 */
export const smallReply = 4 * 1024;

/**
 * Of the replies that fit the cork of uWebSockets.js, one in so many is written in the dearer way that tells whether
 * the client reads: by chance, a connection then holds 16 unread ones, 200 KB at most.
 */
export const probeShare = 1 / 16;

/** Replies without a body that end in one turn of the event loop, of all connections of a server together. */
export const bodilessPerTurn = 64;

/** On node:http, a connection with so much to read is not answered more until it has read: see NodeConnection. */
export const unreadBytes = 256 * 1024;

/** On node:http, requests of one connection that are handled at a time: those pipelined behind them wait. */
export const openRequests = 16;

/**
 * On node:http, requests of one connection that may wait behind those: what one packet of the shortest brings. Past
 * them it is cut, since each that waits takes some kilobytes.
 */
export const heldRequests = 2000;

/**
 * A refused body up to this many times the limit is read and thrown away, so that the client gets to see
 * the reply (closing under a client that still writes resets the connection); a larger one is cut.
 */
export const discardFactor = 8;

/**
 * How long the client may take to read a large reply, which stays in memory until then: `writeTimeoutMs`
 * for a stall, and beyond that no slower than 64 KiB/s. By default, 25 MiB get 410 s.
 */
export function writeDeadlineMs(bytes: number, writeTimeoutMs: number): number {
  return writeTimeoutMs + (bytes / (64 * 1024)) * 1000;
}

/** How long a body may take to arrive, by the length that its head announces: as long as a reply may to leave. */
export function bodyDeadlineMs(bytes: number, bodyTimeoutMs: number): number {
  return writeDeadlineMs(bytes, bodyTimeoutMs);
}

/** What uWebSockets.js gathers (its cork) before it writes: a reply longer than this is written at once. */
export const corkBytes = 16 * 1024;
