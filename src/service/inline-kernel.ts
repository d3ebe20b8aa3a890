import { type Config, resolveConfig } from '../config/config.ts';
import { DeadlineSweep } from '../dispatch/deadline.ts';
import { InlineExecutor, InlineHost } from '../dispatch/inline.ts';
import { Kernel } from '../dispatch/kernel.ts';
import { OpenStreams } from '../dispatch/streams/open-streams.ts';
import { createLog, type Log } from '../observe/log.ts';
import type { FaultReporter } from '../router/fault.ts';
import type { Procedure } from '../router/types.ts';
import { logFault, logLine } from './worker-log.ts';

let defaults: Config | undefined;
let log: Log | undefined;
const deadlines = new DeadlineSweep();

/** The options that nobody has set, with what the environment says of them. */
function defaultConfig(): Config {
  defaults ??= resolveConfig();
  return defaults;
}

/** A log on stderr. */
function logAt(level: Config['logLevel']): Log {
  log ??= createLog({ level });
  return log;
}

export interface InlineKernelOptions {
  /** Given by whoever wants something else than the default. */
  readonly config?: Partial<Config>;
  /** Default: a line on stderr. */
  readonly onFault?: FaultReporter | undefined;
}

/** A kernel without a service around it: it runs every call on this thread, wherever the procedures are placed. */
export function createInlineKernel(
  table: () => ReadonlyMap<string, Procedure>,
  options: InlineKernelOptions = {},
): Kernel {
  const config = { ...defaultConfig(), ...options.config };
  const { checkResults, timeoutMs, maxReplyBytes, logLevel } = config;
  const own = logAt(logLevel);
  const onFault = options.onFault ?? logFault(own);
  const streams = new OpenStreams(config, deadlines, { open: 0 }, undefined);
  const host = new InlineHost(
    { checkResults, timeoutMs, maxReplyBytes, onFault, onLine: logLine(own) },
    deadlines,
    streams,
  );
  const inline = new InlineExecutor(host);
  return new Kernel(config, () => ({
    table: table(),
    placesByLength: false,
    isIncomplete: false,
    streams,
    executorFor: () => inline,
  }));
}
