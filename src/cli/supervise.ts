import { stackOf } from '../core/base/message-of.ts';
import { ownFile } from '../core/base/package-files.ts';
import type { Log } from '../core/observe/log.ts';
import { Supervisor, type SupervisorOptions } from '../server/supervisor/supervisor.ts';
import { printBanner } from './print-banner.ts';
import { reloadOnHangUp, stopOnSignals } from './signals.ts';

/** Serves in processes of their own, as many as the configuration says, and restarts them. */
export async function supervise(service: Omit<SupervisorOptions, 'entry'>): Promise<void> {
  const entry = ownFile('src/cli/child-main.ts');
  const supervisor = new Supervisor({ entry, ...service });
  const stopping = stopOnSignals(
    {
      stop: async (signal) => ((await supervisor.stop(signal)) ? 0 : 1),
      kill: () => supervisor.kill(),
    },
    service.log,
  );
  reloadOnHangUp(() => void supervisor.reload());
  process.on('SIGUSR2', () => void supervisor.replace());
  surviveOwnFaults(supervisor.log);
  try {
    const report = await supervisor.start();
    if (report !== undefined) printBanner(report.banner);
  } catch (error) {
    // A signal during the start makes the start fail. The failure is not reported then.
    if (!stopping.aborted) throw error;
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
