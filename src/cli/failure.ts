import { escapeControls } from '../observe/escape.ts';
import { StartupError } from '../startup-error.ts';

/** One line on stderr, whatever `message` holds. */
export function printFailure(message: string): void {
  const line = message.trim().replace(/\s*\n\s*/g, ' ');
  process.stderr.write(`tandem: ${escapeControls(line)}\n`);
}

function isSystemError(error: Error): boolean {
  return 'code' in error && typeof error.code === 'string';
}

function failureMessage(error: unknown): string {
  if (error instanceof StartupError) return error.message;
  // EADDRINUSE, EACCES and the like: the system's own words say what is wrong.
  if (error instanceof Error && isSystemError(error)) return error.message;
  return `unexpected error: ${String(error)} (set TANDEM_DEBUG=1 to see the stack)`;
}

/** Ends the process with exit code 1 and one line that says why. */
export function fail(error: unknown): never {
  printFailure(failureMessage(error));
  if (process.env.TANDEM_DEBUG === '1' && error instanceof Error) {
    process.stderr.write(`${error.stack}\n`);
    if (error.cause instanceof Error) process.stderr.write(`caused by: ${error.cause.stack}\n`);
  }
  // Not process.exitCode: replicas that did start, or the module's own handles, would keep it alive.
  process.exit(1);
}
