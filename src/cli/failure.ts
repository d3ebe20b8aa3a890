import { escapeControls } from '../core/base/escape.ts';
import { StartupError } from '../core/base/startup-error.ts';
import { openFilesAdvice } from '../server/app/open-files.ts';
import { codeOf } from '../server/http/edge/http-server.ts';
import type { StartFailure } from '../server/supervisor/messages.ts';
import { joinLines } from './output.ts';

/** Prints `message` as one line on stderr, even where it holds line breaks or control characters. */
export function printFailure(message: string): void {
  process.stderr.write(`tandem: ${escapeControls(joinLines(message))}\n`);
}

function failureMessage(error: unknown): string {
  if (error instanceof Error && 'syscall' in error && error.syscall === 'uv_cwd') {
    return 'the working folder was deleted; change to one that exists';
  }
  return error instanceof Error && isKnown(error)
    ? openFilesAdvice(error.message)
    : `unexpected error: ${String(error)} (set TANDEM_DEBUG=1 to see the stack)`;
}

function isKnown(error: Error): boolean {
  if (error instanceof StartupError) return true;
  // For EADDRINUSE, EACCES and the like, the system's own words say what is wrong.
  return 'code' in error && typeof error.code === 'string';
}

/** What to print for an error: one line, and with TANDEM_DEBUG=1 its stack too. */
export function failureOf(error: unknown): StartFailure {
  const message = failureMessage(error);
  if (!(error instanceof Error)) return { message, stack: undefined };
  const failure = { message, code: 'code' in error ? codeOf(error) : undefined };
  if (process.env.TANDEM_DEBUG !== '1') return { ...failure, stack: undefined };
  const { stack, cause } = error;
  return {
    ...failure,
    stack: cause instanceof Error ? `${stack}\ncaused by: ${cause.stack}` : stack,
  };
}

/** Ends the process with one line that says why. */
export function fail(error: unknown, code = 1): never {
  const { message, stack } = failureOf(error);
  printFailure(message);
  if (stack !== undefined) process.stderr.write(`${stack}\n`);
  // `process.exitCode` is not enough: workers that did start, or the module's own handles, would keep the process
  // alive.
  process.exit(code);
}
