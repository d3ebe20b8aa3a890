import { escapeControls } from '../core/base/escape.ts';
import { stackOf } from '../core/base/message-of.ts';
import { StartupError } from '../core/base/startup-error.ts';
import { openFilesAdvice } from '../server/app/open-files.ts';
import { codeOf } from '../server/http/edge/http-server.ts';
import type { StartFailure } from '../server/process/channel.ts';
import { joinLines } from './output.ts';

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

/** Prints `message` as one line on stderr, even if it holds line breaks or control characters. */
export function printFailure(message: string): void {
  process.stderr.write(`tandem: ${escapeControls(joinLines(message))}\n`);
}

/** What to print for an error: one line, and with TANDEM_DEBUG=1 its stack too. */
export function failureOf(error: unknown): StartFailure {
  const message = failureMessage(error);
  if (!(error instanceof Error)) return { message, stack: undefined };
  return {
    message,
    code: 'code' in error ? codeOf(error) : undefined,
    stack: process.env.TANDEM_DEBUG === '1' ? stackOf(error) : undefined,
  };
}

function failureMessage(error: unknown): string {
  if (error instanceof Error && 'syscall' in error && error.syscall === 'uv_cwd') {
    return 'the working folder was deleted; change to one that exists';
  }
  const isKnown =
    error instanceof StartupError ||
    // For EADDRINUSE, EACCES and the like, the system's own words say what is wrong.
    (error instanceof Error && 'code' in error && typeof error.code === 'string');
  return isKnown
    ? openFilesAdvice(error.message)
    : `unexpected error: ${String(error)} (set TANDEM_DEBUG=1 to see the stack)`;
}

export function fail(error: unknown, code = 1): never {
  const { message, stack } = failureOf(error);
  printFailure(message);
  if (stack !== undefined) process.stderr.write(`${stack}\n`);
  // `process.exitCode` is not enough: workers that did start, or the module's own handles, would keep the process
  // alive.
  process.exit(code);
}
