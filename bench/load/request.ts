/** A request, and the one right answer to it. */
export interface Exchange {
  readonly body: string;
  /** The exact text of the reply that the server writes. */
  readonly reply: string;
}

/** What is asked of a server. */
export interface Target {
  readonly path: string;
  /** The default is POST. */
  readonly method?: 'GET';
  /** Of the caller. */
  readonly token?: string;
}

/** Where load is sent to, and which requests. */
export interface Goal extends Target {
  readonly port: number;
  readonly exchanges: readonly Exchange[];
  /** Bytes of one whole response with its head. All exchanges of a goal have responses of this size. */
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
