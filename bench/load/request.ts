/** What is sent, and the one right answer to it. */
export interface Exchange {
  readonly body: string;
  /** The reply's text, as the server is known to write it. */
  readonly reply: string;
}

/** Where load goes, and what. */
export interface Goal {
  readonly port: number;
  readonly path: string;
  readonly exchanges: readonly Exchange[];
  /** Bytes of one whole response, the head included: the same for all exchanges of a goal. */
  readonly responseBytes: number;
}

export interface LoadResult {
  readonly tool: string;
  readonly responses: number;
  readonly perSecond: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
}

export const headers = { 'content-type': 'application/json' } as const;
