/**
 * Options for services whose limits of time are not what is tested: a machine that is busy with other work must not
 * let a call wait or run, or a worker start, longer than they allow. The runner ends what hangs.
 */
export const patience = {
  maxQueueMs: 600_000,
  startTimeoutMs: 600_000,
  timeoutMs: 600_000,
} as const;

/** The same for the command line. */
export const patienceVariables = {
  TANDEM_MAX_QUEUE_MS: String(patience.maxQueueMs),
  TANDEM_START_TIMEOUT: String(patience.startTimeoutMs),
  TANDEM_TIMEOUT: String(patience.timeoutMs),
} as const;
