import { threwInModules } from '../modules/fault-origin.ts';
import { summaryWithPlace } from '../modules/load-error.ts';
import type { Log } from '../observe/log.ts';
import { describe } from '../router/fault.ts';

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
      { event: 'unhandled-rejection', detail: describe(reason) },
      'a procedure left a rejected promise unhandled',
    );
  });
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

/** How long `tell` may take. It mostly takes no time; and if it does not end, the log has the reason. */
const tellMs = 1000;
