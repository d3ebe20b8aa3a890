import { messageOf } from '../core/base/message-of.ts';
import { StartupError } from '../core/base/startup-error.ts';
import { startTimer } from '../core/base/timer.ts';
import type { Config } from '../core/config/config.ts';
import type { Log, LogLevel, OwnLog } from '../core/observe/log.ts';
import { RpcApp } from '../server/app/app.ts';
import { hooksOf } from '../server/app/hooks.ts';
import { openFilesAdvice } from '../server/app/open-files.ts';
import type { AdminSocket } from '../server/supervisor/admin/admin-socket.ts';
import { Guard } from '../server/supervisor/guard-thread.ts';
import { bannerOf } from './banner.ts';
import { fail } from './exit.ts';
import { tellReady } from './output.ts';
import { profilerOf } from './profiler.ts';
import { reloadOnHangUp, stopOnSignals } from './signals.ts';
import { surviveFaults } from './survive-faults.ts';

export interface ServeOptions {
  readonly modules: readonly string[];
  readonly config: Config;
  readonly version: string;
  readonly log: OwnLog;
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
  const app = new RpcApp({ modules, log, ...config, ...hooks, codegen: '' });
  let admin: AdminSocket | undefined;
  const stop = async (): Promise<number> => {
    clearTimeout(limit);
    await app.close();
    await admin?.close();
    return 0;
  };
  const stopping = stopOnSignals({ stop, kill: () => {} }, log);
  try {
    if (config.codegen !== '') {
      await app.dispatcher.ready();
      const { keepServed } = await import('./tools/codegen.ts');
      await keepServed(app.router, config.codegen, log);
    }
    const address = await app.listen();
    clearTimeout(limit);
    const guard = new Guard({ ...config, graceMs: undefined, base: {} });
    guard.watch();
    if (config.adminSocket !== '')
      admin = await listenForOrders(config.adminSocket, app, guard, log);
    reloadOnHangUp(() => void reload(app, log));
    tellReady(bannerOf(app, address, { modules, config, version }, hooks), log);
  } catch (error) {
    // A signal during the start makes listen() fail. The failure is not reported then.
    if (!stopping.aborted) throw error;
  }
}

/** Operators reach a process without a supervisor by a socket of its own. */
async function listenForOrders(
  path: string,
  { dispatcher }: RpcApp,
  guard: Guard,
  log: OwnLog,
): Promise<AdminSocket> {
  const { AdminSocket } = await import('../server/supervisor/admin/admin-socket.ts');
  const { carryOut, refusalOf } = await import('../server/supervisor/admin/orders.ts');
  const operated = {
    dispatcher,
    guard,
    setLevel: (level: LogLevel) => guard.setLevel(level),
    profile: profilerOf(dispatcher),
  };
  return AdminSocket.listen(path, log, async function* (order, left) {
    yield refusalOf(order, 1) ?? {
      process: 1,
      pid: process.pid,
      ...(await carryOut(operated, order, left)),
    };
  });
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
