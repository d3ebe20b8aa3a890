import type { Log } from '../core/observe/log.ts';
import { fail } from './exit.ts';

const exitCodes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
type StopSignal = keyof typeof exitCodes;

/**
 * SIGHUP means two things. If the server was started from a terminal, the terminal has gone and the server ends.
 * Without a terminal SIGHUP asks for a reload.
 */
function stopSignals(): StopSignal[] {
  const hasTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
  return hasTerminal ? ['SIGINT', 'SIGTERM', 'SIGHUP'] : ['SIGINT', 'SIGTERM'];
}

export interface Stoppable {
  /** Drains. Resolves with the exit code. */
  stop(signal: StopSignal): Promise<number>;
  /** Ends at once what can't wait any more. */
  kill(): void;
}

/** The first signal drains, a second one exits at once. */
export function stopOnSignals(service: Stoppable, log: Log): AbortSignal {
  const stopping = new AbortController();
  for (const signal of stopSignals()) {
    process.on(signal, () => {
      if (stopping.signal.aborted) {
        service.kill();
        process.exit(exitCodes[signal]);
      }
      stopping.abort();
      log.info({ event: 'signal', signal }, 'draining; a second signal exits at once');
      service.stop(signal).then((code) => process.exit(code), fail);
    });
  }
  return stopping.signal;
}

export function reloadOnHangUp(reload: () => void): void {
  if (!stopSignals().includes('SIGHUP')) process.on('SIGHUP', reload);
}
