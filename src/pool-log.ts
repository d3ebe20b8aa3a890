import type { Log } from './observe/log.ts';
import type { PoolEvents } from './pool/options.ts';
import type { FaultReporter } from './router/invoke.ts';

/** Writes the stack behind each -32603; the client was given the ref. */
export function logFault(log: Log): FaultReporter {
  return ({ ref, method, detail }) => log.error({ ref, method, detail }, 'a procedure failed');
}

/** Writes what happens to the workers. */
export function poolEvents(log: Log): Omit<PoolEvents, 'onRun'> {
  return {
    onFault: logFault(log),
    onUncaught: (detail) => log.error({ detail }, 'an error outside of any call in a worker'),
    onWorkerLost: (reason, detail) => log.error({ reason, detail }, 'a worker was lost'),
    onWorkerKilled: (method) =>
      log.warn({ method }, 'a worker was ended at the deadline of a call'),
    onRestartFailed: (detail, retryMs) =>
      log.error({ detail, retryMs }, 'a worker could not be replaced yet'),
    onNotNiced: () =>
      log.warn(
        {},
        'the workers run at the priority of the main thread: niceIncrement did not take',
      ),
  };
}
