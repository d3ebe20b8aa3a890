import { RpcApp } from '../app.ts';
import { type FlagValues, misspeltVariables, optionsFromFlags, resolveConfig } from '../config.ts';
import { createLog, type Log } from '../observe/log.ts';
import { describe } from '../router/invoke.ts';
import { banner } from './banner.ts';
import { fail, printFailure } from './failure.ts';

/** Serves `modules` until a signal ends it. */
export async function serve(modules: string[], flags: FlagValues, version: string): Promise<void> {
  const config = resolveConfig(optionsFromFlags(flags), process.env);
  for (const { name, meant } of misspeltVariables(process.env)) {
    printFailure(
      `warning: the environment variable ${name} is not one of mine, did you mean ${meant}?`,
    );
  }
  const log = createLog({ level: config.logLevel });
  const app = new RpcApp({ modules, log, ...config });
  const stopping = stopOnSignals(app, log);
  try {
    const { url } = await app.listen();
    surviveFaults(log);
    reloadOnHangUp(app, log);
    process.stdout.write(banner(app, { url, version, workers: config.workers }));
  } catch (error) {
    // A signal during the start makes listen() fail: that is no failure.
    if (!stopping.aborted) throw error;
  }
}

const exitCodes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/** A hang-up of the terminal the server was started from is its end; without one it asks for a reload. */
function stopSignals(): (keyof typeof exitCodes)[] {
  const hasTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
  return hasTerminal ? ['SIGINT', 'SIGTERM', 'SIGHUP'] : ['SIGINT', 'SIGTERM'];
}

function reloadOnHangUp(app: RpcApp, log: Log): void {
  if (stopSignals().includes('SIGHUP')) return;
  process.on('SIGHUP', () => {
    app.reload().then(
      (changed) => {
        if (!changed) log.info({}, 'not reloaded: nothing has changed');
      },
      (error: unknown) => {
        const detail = error instanceof Error ? error.message : String(error);
        log.error({}, `not reloaded, the modules serve as they were: ${detail}`);
      },
    );
  });
}

/** The first signal drains and exits with 0, a second one exits at once. */
function stopOnSignals(app: RpcApp, log: Log): AbortSignal {
  const stopping = new AbortController();
  for (const signal of stopSignals()) {
    process.on(signal, () => {
      if (stopping.signal.aborted) process.exit(exitCodes[signal]);
      stopping.abort();
      log.info({ signal }, 'draining; a second signal exits at once');
      app.close().then(() => process.exit(0), fail);
    });
  }
  return stopping.signal;
}

/**
 * What a procedure leaves behind must not end the service for everyone else: a promise nobody awaits is
 * logged. An exception outside of any call may have left anything half done, so it ends the process.
 */
function surviveFaults(log: Log): void {
  process.on('unhandledRejection', (reason) => {
    log.error({ detail: describe(reason) }, 'a procedure left a rejected promise unhandled');
  });
  process.on('uncaughtException', (error) => {
    log.error({ detail: describe(error) }, 'uncaught exception outside of a call: exiting');
    process.exit(1);
  });
}
