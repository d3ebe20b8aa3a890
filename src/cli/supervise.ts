import { ownExtension } from '../router/modules/module-url.ts';
import { Supervisor, type SupervisorOptions } from '../supervisor/supervisor.ts';
import { reloadOnHangUp, stopOnSignals } from './signals.ts';

/** Serves in processes of their own, as many as the configuration says, and keeps them. */
export async function supervise(service: Omit<SupervisorOptions, 'entry'>): Promise<void> {
  const entry = new URL(`./server-process${ownExtension}`, import.meta.url);
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
  try {
    const report = await supervisor.start();
    if (report !== undefined) process.stdout.write(report.banner);
  } catch (error) {
    // A signal during the start makes it fail: that is no failure.
    if (!stopping.aborted) throw error;
  }
}
