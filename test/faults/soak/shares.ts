/** What the server of the soak allows each caller. Apart from those who call, since the server begins with a board of its own. */
export const shares = {
  maxInFlightPerCaller: 80,
  rateLimit: { calls: 400 },
  maxConnections: 1000,
  maxStreams: 200,
} as const;
