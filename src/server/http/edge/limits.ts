import { longestDelayMs } from '../../../core/base/timer.ts';

/** Limits of the HTTP edge that are no options, each with its reason. */

/**
 * Longest reply, in characters, that the system takes at once from a connection that waited for it: 12 KiB of UTF-8
 * at most, where Linux's send buffer begins with 16 KiB. A longer reply may have to wait for its client.
 */
export const smallReply = 4 * 1024;

/**
 * Share of the replies that fit the cork of uWebSockets.js which are written in the costlier way that tells whether the
 * client reads. Which replies is a matter of chance. A connection then holds 16 unread replies on average, 200 KB at
 * most.
 */
export const probeShare = 1 / 16;

/** Most replies without a body that end in one turn of the event loop, for all connections of a server together. */
export const bodilessPerTurn = 64;

/**
 * On node:http, a connection with more unread bytes than this gets no further answers until its client has read: see
 * NodeConnection.
 */
export const unreadBytes = 256 * 1024;

/** On node:http, most requests of one connection that are handled at a time. Requests pipelined behind them wait. */
export const openRequests = 16;

/**
 * On node:http, most requests of one connection that may wait behind those: about as many of the shortest requests as
 * one packet brings. With more of them the connection is cut, since each waiting request takes some kilobytes.
 */
export const heldRequests = 2000;

/**
 * A refused body up to this many times the limit is read and thrown away, so that the client sees the reply: closing
 * the connection while the client still writes would reset it. A longer body is cut.
 */
export const discardFactor = 8;

/**
 * How long the client may take to read a large reply, which stays in memory until then: `writeTimeoutMs`, and on top
 * of that the time that the bytes take at 64 KiB/s. By default, 25 MiB get 410 s.
 */
export function writeDeadlineMs(bytes: number, writeTimeoutMs: number): number {
  return Math.min(writeTimeoutMs + (bytes / (64 * 1024)) * 1000, longestDelayMs);
}

/** How long a body may take to arrive, by the length that its head announces: computed as for the reply. */
export function bodyDeadlineMs(bytes: number, bodyTimeoutMs: number): number {
  return writeDeadlineMs(bytes, bodyTimeoutMs);
}

/** Bytes that uWebSockets.js gathers (its cork) before it writes. A longer reply is written at once. */
export const corkBytes = 16 * 1024;
