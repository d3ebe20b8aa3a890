import { StartupError } from '../core/base/startup-error.ts';
import {
  type FlagValues,
  misspeltVariables,
  optionsFromFlags,
  resolveConfig,
} from '../core/config/config.ts';
import { createLog } from '../core/observe/log.ts';
import { printFailure } from './failure.ts';
import { makeOutputLossy } from './lossy-output.ts';

/** Serves `modules` until a signal ends it. */
export async function serve(modules: string[], flags: FlagValues, version: string): Promise<void> {
  const config = resolveConfig(optionsFromFlags(flags), process.env);
  if (config.natsRole === 'gateway' && config.nats.length === 0) {
    throw new StartupError('a gateway needs the servers of NATS: --nats nats://host:4222');
  }
  for (const { name, meant } of misspeltVariables(process.env)) {
    printFailure(
      `warning: the environment variable ${name} is not one of mine, did you mean ${meant}?`,
    );
  }
  makeOutputLossy();
  const log = createLog({ level: config.logLevel, maxBytesPerSecond: config.maxLogBytesPerSecond });
  log.open();
  const service = { modules, config, version, log };
  // Loaded on demand: a supervisor has no server in its memory.
  if (config.supervisor) {
    const { supervise } = await import('./supervise.ts');
    await supervise(service);
  } else {
    const { serveHere } = await import('./serve-here.ts');
    await serveHere(service);
  }
}
