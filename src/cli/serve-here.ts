import { messageOf } from '../core/base/message-of.ts';
import { StartupError } from '../core/base/startup-error.ts';
import { startTimer } from '../core/base/timer.ts';
import type { Config } from '../core/config/config.ts';
import type { Log } from '../core/observe/log.ts';
import { RpcApp } from '../server/app/app.ts';
import { hooksOf } from '../server/app/hooks.ts';
import { openFilesAdvice } from '../server/app/open-files.ts';
import { Guard } from '../server/supervisor/guard-thread.ts';
import { bannerOf } from './banner.ts';
import { fail } from './exit.ts';
import { printBanner } from './output.ts';
import { reloadOnHangUp, stopOnSignals } from './signals.ts';
import { surviveFaults } from './survive-faults.ts';

export interface ServeOptions {
  readonly modules: readonly string[];
  readonly config: Config;
  readonly version: string;
  readonly log: Log;
}

/** Serves in this process, which nobody restarts. */
export async function serveHere({ modules, config, version, log }: ServeOptions): Promise<void> {
  // As a supervisor does with its processes. The workers have a time limit of their own; what this thread loads has none.
  const limitMs = 2 * config.startTimeoutMs;
  const limit = startTimer(limitMs, () => {
    const why = `not ready after ${limitMs} ms: look for a module that waits at its top level, or raise startTimeoutMs`;
    fail(new StartupError(why));
  });
  const hooks = await hooksOf(config);
  surviveFaults(log, async () => {});
  const app = new RpcApp({ modules, log, ...config, ...hooks });
  const stop = async (): Promise<number> => {
    clearTimeout(limit);
    await app.close();
    return 0;
  };
  const stopping = stopOnSignals({ stop, kill: () => {} }, log);
  try {
    const address = await app.listen();
    clearTimeout(limit);
    new Guard({ ...config, graceMs: undefined, base: {} }).watch();
    reloadOnHangUp(() => void reload(app, log));
    printBanner(await bannerOf(app, address, { modules, config, version }, hooks));
  } catch (error) {
    // A signal during the start makes listen() fail. The failure is not reported then.
    if (!stopping.aborted) throw error;
  }
}

async function reload(app: RpcApp, log: Log): Promise<void> {
  try {
    if (await app.reload()) return;
    log.info({ event: 'reload-unchanged' }, 'not reloaded: nothing has changed');
  } catch (error) {
    const detail = openFilesAdvice(messageOf(error));
    log.error(
      { event: 'reload-failed' },
      `not reloaded, the modules serve as they were: ${detail}`,
    );
  }
}
