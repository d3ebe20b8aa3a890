/** Limits of the HTTP edge that are no options, each with its reason. */

/** Node's own default; what passes it is no honest client, and the sum is held in memory per request. */
export const maxHeaderBytes = 16 * 1024;

/** uWebSockets.js hands over 98 at most and goes silent above; the round number below refuses with a reply. */
export const maxHeaderCount = 96;

/** Above it a body is bytes that move to a worker without a copy; up to it, copying is the cheaper way. */
export const largeBytes = 64 * 1024;

/**
 * Characters of a reply that the system takes at once from a connection that waited for it: 12 KiB of
 * UTF-8 at most, where Linux begins with 16 KiB. A longer one may have to wait for its client.
 */
export const smallReply = 4 * 1024;

/**
 * A refused body up to this many times the limit is read and thrown away, so that the client gets to see
 * the reply (closing under a client that still writes resets the connection); a larger one is cut.
 */
export const discardFactor = 8;

/**
 * How long the client may take to read a large reply, which stays in memory until then: 10 s for a stall,
 * and beyond that no slower than 64 KiB/s. The default reply limit, 25 MiB, gets 410 s.
 */
export function writeDeadlineMs(bytes: number): number {
  return 10_000 + (bytes / (64 * 1024)) * 1000;
}

/** What uWebSockets.js gathers (its cork) before it writes: a reply longer than this is written at once. */
export const corkBytes = 16 * 1024;
