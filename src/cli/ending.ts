import { StartupError } from '../core/base/startup-error.ts';
import { fail } from './failure.ts';

/**
 * Ends the process once `text` is written. A procedure module may have left timers and connections open, which must
 * not be waited for.
 */
export async function printAndExit(text: string, code = 0): Promise<never> {
  await new Promise<void>((resolve) => {
    process.stdout.write(text, (error) => {
      if (error) onOutputLost(error);
      resolve();
    });
  });
  process.exit(code);
}

/** Ends a command whose output is lost, on a full disk for example. A reader that closes its pipe has read enough. */
export function onOutputLost(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') return;
  fail(new StartupError(`the output cannot be written: ${error.message}`, { cause: error }));
}
