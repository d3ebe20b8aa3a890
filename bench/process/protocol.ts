/** The messages between a parent and a child: commands, each with an answer. */
export interface Request {
  readonly id: number;
  readonly command: string;
  readonly argument: unknown;
}

export type Response =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: string };

/** The id of the message by which a child says that it is ready. */
export const readyId = 0;

/** What a process has used so far. */
export interface Usage {
  /** CPU time of all threads of the process, user and system, microseconds. */
  readonly cpuUs: number;
  /** CPU time of the main thread; of all threads where the system does not tell of one. Microseconds. */
  readonly mainCpuUs: number;
  readonly rssBytes: number;
  readonly peakRssBytes: number;
  readonly heapBytes: number;
}
