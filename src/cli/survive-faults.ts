import { blame, runningCode } from '../core/base/running-code.ts';
import { ProcessExit } from '../core/base/thread-role.ts';
import { exitedByModules, threwInModules } from '../core/modules/exit-guard.ts';
import { summaryWithPlace } from '../core/modules/load-error.ts';
import type { Log } from '../core/observe/log.ts';
import { describe } from '../core/procedures/fault.ts';

/**
 * Keeps the mistakes of one module from ending the service for everyone else. A promise that nobody awaits is logged.
 * An exception in a module's timer or listener is logged too, as in a worker. Any other exception may have left
 * anything of this package half done, so it ends the process.
 *
 * @param tell called with the reason, in one line, before the process ends
 */
export function surviveFaults(log: Log, tell: (line: string) => Promise<void>): void {
  process.on('unhandledRejection', (reason) => {
    log.error(
      { event: 'unhandled-rejection', detail: () => describe(reason) },
      'a procedure left a rejected promise unhandled',
    );
  });
  tellExit(log, tell);
  process.on('uncaughtException', (error: unknown) => {
    const detail = describe(error);
    const summary = summaryWithPlace(error);
    if (threwInModules(error)) {
      log.error(
        { event: 'uncaught-exception', detail },
        `a procedure module failed outside of any call: ${summary}; the process goes on`,
      );
      return;
    }
    log.error(
      { event: 'uncaught-exception', detail },
      'uncaught exception outside of a call: exiting',
    );
    setTimeout(() => process.exit(1), tellMs);
    void tell(`it ended: outside of any call ${summary}`).finally(() => process.exit(1));
  });
}

/**
 * Names who ended the process by `process.exit`, in a procedure that runs on the main thread for instance. When this
 * package ends the process, it has said so already.
 */
function tellExit(log: Log, tell: (line: string) => Promise<void>): void {
  process.on('exit', (code) => {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 50;
    const exit = new ProcessExit(code);
    Error.stackTraceLimit = stackTraceLimit;
    const detail = String(exit.stack);
    if (!exitedByModules(detail)) return;
    const { fields, text } = blame(runningCode.suspects());
    const line = `${summaryWithPlace(exit)}${text}`;
    log.error({ event: 'process-exit', ...fields, code, detail }, `the process ends: ${line}`);
    void tell(line);
  });
}

/** How long `tell` may take. It mostly takes no time; and if it does not end, the log has the reason. */
const tellMs = 1000;
