import { LineLimiter } from '../base/line-limiter.ts';
import { type Place, placeOfGroup } from '../base/place.ts';
import { blame } from '../base/running-code.ts';
import { hideSecrets, type Log, logOf } from '../observe/log.ts';
import type { CallLine } from '../procedures/context.ts';
import type { FaultReporter } from '../procedures/fault.ts';
import type { WorkerEvents } from '../workers/options.ts';

/** Logs the stack of each -32603. The client got only the ref. */
export function logFault(log: Log): FaultReporter {
  return (fault) => {
    const { ref, method, calls, exit, count } = fault;
    const detail = (): string => fault.detail;
    const fields = { ref, method, ...(calls !== undefined && { calls }), detail };
    if (fault.isSent === true) {
      log.warn({ event: 'result-mismatch', method, detail }, 'a result did not match and was sent');
    } else if (fault.isTooLarge === true) {
      log.warn({ event: 'result-too-large', method, detail }, 'a result was too large to be sent');
    } else if (fault.isPartlyLost === true) {
      log.warn(
        { event: 'result-accessors-lost', method, detail },
        'a result was sent without its accessors',
      );
    } else if (count !== undefined) {
      log.error({ event: 'log-limited', limited: 'call-failed', method, count }, 'more failed');
    } else if (exit === undefined) {
      log.error({ event: 'call-failed', ...fields }, 'a procedure failed');
    } else {
      log.error(
        { event: 'procedure-exit', ...fields },
        `a procedure called ${exit} in a worker: ${method}`,
      );
    }
  };
}

/** Logs the lines of `context.log`. What a handler says stands below `fields`, so that it can't take the place of a fact. */
export function logLine(log: Log): (line: CallLine) => void {
  return ({ level, method, id, fields, text }) =>
    log[level](
      { event: 'procedure-log', method, id: parsed(id), fields: parsed(fields, hideSecrets) },
      text,
    );
}

function parsed(text: string | undefined, revive?: typeof hideSecrets): unknown {
  return text === undefined ? undefined : (JSON.parse(text, revive) as unknown);
}

/** Logs a broadcast that has thrown in a thread. */
export function logBroadcastFault(log: Log, place: Place): (name: string, detail: string) => void {
  return (broadcast, detail) =>
    log.error({ event: 'broadcast-failed', broadcast, place, detail }, 'a broadcast failed');
}

/** Logs the fault of a hook of the operator's. */
export function logHookFault(
  log: Log,
  hook: string,
): (fault: { readonly ref: string; readonly detail: string }) => void {
  return (fault) =>
    log.error(
      { event: 'hook-failed', ref: fault.ref, hook, detail: () => fault.detail },
      'a hook failed',
    );
}

/**
 * Logs what happens to the workers. `onOutdated` has no log line: it makes the service reload.
 *
 * @param group a field of each line; undefined: the workers have no group
 */
export function workerLog(given: Log, group: string | undefined): Omit<WorkerEvents, 'onOutdated'> {
  const log = group === undefined ? given : withFields(given, { group });
  const held = new LineLimiter<string>(() => {});
  return {
    onFault: logFault(log),
    onLine: logLine(log),
    onBroadcastFailed: logBroadcastFault(log, placeOfGroup(group)),
    onUncaught: (detail) =>
      log.error({ event: 'worker-error', detail }, 'an error outside of any call in a worker'),
    onGarbled: (detail) =>
      log.error({ event: 'worker-garbled', detail }, 'a worker told what can not be'),
    onLost: (reason, detail, suspects) => {
      const { fields, text } = blame(suspects);
      log.error({ event: 'worker-lost', reason, ...fields, detail }, `a worker was lost${text}`);
    },
    onKilled: (method, ms, detail) =>
      log.warn(
        { event: 'worker-killed', method, ms, detail },
        'a worker was ended at the deadline of a call',
      ),
    onPlaceHeld: (method) => {
      if (!held.admits(method, method, 1)) return;
      log.warn(
        { event: 'concurrency-held', method },
        'a handler goes on after its deadline, and holds a place of maxConcurrency: calls of its procedure may wait until it ends',
      );
    },
    onNoStack: (detail) =>
      log.warn(
        { event: 'stacks-unavailable', detail },
        'stuck threads are ended without their stacks: the inspector can not be used here',
      ),
    onRestartFailed: (detail, retryMs) =>
      log.error(
        { event: 'worker-restart-failed', detail, retryMs },
        'a worker could not be replaced yet',
      ),
    onRetired: (calls, memory) =>
      log.info({ event: 'worker-retired', calls, memory }, 'a worker is replaced by a fresh one'),
    onNotNiced: () =>
      log.warn(
        { event: 'not-niced' },
        'the workers run at the priority of the main thread: niceIncrement did not take',
      ),
  };
}

/** Writes to `log`, with further fields in each line. */
function withFields(log: Log, more: Readonly<Record<string, string>>): Log {
  return logOf((level) => (fields, message) => log[level]({ ...fields, ...more }, message));
}
