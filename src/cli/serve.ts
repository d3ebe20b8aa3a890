import { stackOf } from '../core/base/message-of.ts';
import { StartupError } from '../core/base/startup-error.ts';
import { didYouMean } from '../core/base/suggest.ts';
import {
  type FlagValues,
  misspeltVariables,
  optionsFromFlags,
  resolveConfig,
} from '../core/config/config.ts';
import { createLog, type Log } from '../core/observe/log.ts';
import type { AdminSocket } from '../server/process/admin-socket.ts';
import { Supervisor } from '../server/process/supervisor.ts';
import { makeOutputLossy } from './lossy-output.ts';
import { tellReady } from './output.ts';
import { reloadOnHangUp, stopOnSignals } from './signals.ts';

/** Serves `modules` until a signal ends it: in processes that a supervisor restarts, or in this one. */
export async function serve(modules: string[], flags: FlagValues, version: string): Promise<void> {
  const config = resolveConfig(optionsFromFlags(flags), process.env);
  if (config.natsRole === 'gateway' && config.nats.length === 0) {
    throw new StartupError('a gateway needs the servers of NATS: --nats nats://host:4222');
  }
  makeOutputLossy();
  const log = createLog({ level: config.logLevel });
  log.open();
  for (const { name, meant } of misspeltVariables(process.env)) {
    log.warn(
      { event: 'variable-unknown', variable: name },
      `the environment variable ${name} is not one of mine${didYouMean(meant)}`,
    );
  }
  const service = { modules, config, version, log };
  let serving: Pick<Supervisor, 'start' | 'stop' | 'kill' | 'reload' | 'order'>;
  if (config.supervisor) {
    const supervisor = new Supervisor(service);
    serving = supervisor;
    process.on('SIGUSR2', () => void supervisor.replace());
    surviveOwnFaults(supervisor.log);
  } else {
    // Loaded on demand: a supervisor has no server in its memory.
    const { serverHere } = await import('./server.ts');
    serving = serverHere(service);
  }
  let admin: AdminSocket | undefined;
  if (config.adminSocket !== '') {
    const { AdminSocket } = await import('../server/process/admin-socket.ts');
    admin = await AdminSocket.listen(config.adminSocket, log, (order, left) =>
      serving.order(order, left),
    );
  }
  const stop = async (signal: NodeJS.Signals): Promise<number> => {
    const isWell = await serving.stop(signal);
    await admin?.close();
    return isWell ? 0 : 1;
  };
  const stopping = stopOnSignals({ stop, kill: () => serving.kill() }, log);
  reloadOnHangUp(() => void serving.reload());
  try {
    const report = await serving.start();
    if (report !== undefined) tellReady(report, log);
  } catch (error) {
    // A signal during the start makes the start fail. The failure is not reported then.
    if (stopping.aborted) return;
    await admin?.close();
    throw error;
  }
}

/**
 * Logs an uncaught error of the supervisor and goes on. No procedure runs in a supervisor, and nobody restarts it: if
 * it ended, so would the service. An error outside of all that the supervisor awaits comes from the channel of a
 * server process, whose bytes Node reads before this code does.
 */
function surviveOwnFaults(log: Log): void {
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (fault: unknown) =>
      log.error(
        { event: 'supervisor-fault', detail: () => stackOf(fault) },
        'an unexpected error in the supervisor: the processes serve on',
      ),
    );
  }
}
