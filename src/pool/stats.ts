export interface WorkerStats {
  readonly threadId: number;
  readonly inFlight: number;
  readonly completed: number;
}

export interface PoolStats {
  readonly workers: readonly WorkerStats[];
  readonly spares: number;
  readonly queued: number;
  readonly deaths: number;
  readonly kills: number;
  readonly zombies: number;
}
