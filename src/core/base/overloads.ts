/** Messages of one WebSocket, or on stdin, that wait for their answers: one client must not take all of maxInFlight. */
export const maxCallsPerConnection = 1000;

/**
 * All that is refused with -32000, with the reason and the limit that the caller is told: an option, or what
 * docs/protocol.md fixes. A metric counts each by itself, and nothing else answers with that code.
 */
export const overloads = {
  rate: { reason: 'rate', limit: 'rateLimit' },
  inFlightPerCaller: { reason: 'in-flight-per-caller', limit: 'maxInFlightPerCaller' },
  inFlightShare: { reason: 'share', limit: 'maxInFlight' },
  streamShare: { reason: 'share', limit: 'maxStreams' },
  bodyShare: { reason: 'share', limit: 'maxBodyMemory' },
  /** A connection is closed without an answer. So is the next one. */
  connectionShare: { reason: 'share', limit: 'maxConnections' },
  connections: { reason: 'connection', limit: 'maxConnections' },
  callsOfConnection: { reason: 'connection', limit: 'maxCallsPerConnection' },
  inFlight: { reason: 'in-flight', limit: 'maxInFlight' },
  queue: { reason: 'queue', limit: 'maxQueue' },
  queueTime: { reason: 'queue-time', limit: 'maxQueueMs' },
  openStreams: { reason: 'streams', limit: 'maxStreams' },
  /** Each worker holds a fixed number of generators: more workers hold more. */
  generators: { reason: 'streams', limit: 'workers' },
  bodyMemory: { reason: 'body-memory', limit: 'maxBodyMemory' },
  replyMemory: { reason: 'reply-memory', limit: 'maxReplyMemory' },
  orphans: { reason: 'orphans', limit: 'maxOrphansPerWorker' },
} as const;

export type Overload = keyof typeof overloads;
