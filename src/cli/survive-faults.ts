import type { Log } from '../observe/log.ts';
import { describe } from '../router/invoke.ts';

/**
 * What a procedure leaves behind must not end the service for everyone else: a promise nobody awaits is
 * logged. An exception outside of any call may have left anything half done, so it ends the process.
 */
export function surviveFaults(log: Log): void {
  process.on('unhandledRejection', (reason) => {
    log.error(
      { event: 'unhandled-rejection', detail: describe(reason) },
      'a procedure left a rejected promise unhandled',
    );
  });
  process.on('uncaughtException', (error) => {
    log.error(
      { event: 'uncaught-exception', detail: describe(error) },
      'uncaught exception outside of a call: exiting',
    );
    process.exit(1);
  });
}
