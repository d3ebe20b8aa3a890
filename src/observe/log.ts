import { createRequire } from 'node:module';
import { escapeControls } from '../base/escape.ts';
import type { LogEvent } from './events.ts';
import { createLineSink } from './line-sink.ts';
import { prettyLine } from './pretty.ts';

export type LogLevel = 'silent' | 'error' | 'warn' | 'info' | 'debug';

export type LogFields = Readonly<Record<string, unknown>>;

/** One event per line: its name and facts as fields, then a message for people. */
export type WriteLog = (fields: LogFields & { readonly event: LogEvent }, message: string) => void;

/** A log as the rest of the code sees it. Params and results are never passed to it. */
export interface Log {
  readonly debug: WriteLog;
  readonly info: WriteLog;
  readonly warn: WriteLog;
  readonly error: WriteLog;
}

/** Whether this can be written to, as a logger of pino can. */
export function isLog(value: unknown): value is Log {
  if (typeof value !== 'object' || value === null) return false;
  const log = value as Partial<Record<keyof Log, unknown>>;
  return [log.debug, log.info, log.warn, log.error].every((write) => typeof write === 'function');
}

/** A log that loads what writes its lines when the first of them is written. */
export interface LazyLog extends Log {
  /** Loads that now, while there are file descriptors left for it. Idempotent. */
  open(): void;
}

export interface LogOptions {
  readonly level: LogLevel;
  /** Fields of every line. */
  readonly base?: LogFields;
  /** Readable lines in place of JSON. Default: only when stderr is a terminal. */
  readonly pretty?: boolean;
  /** Where finished lines go. Default: stderr. */
  readonly write?: (line: string) => void;
}

/**
 * Fields that would carry a caller's data or secrets. No code logs them on purpose, but an error or a request that is
 * logged as a field may have them as members.
 */
const secretFields = [
  'params',
  'result',
  'auth',
  'headers',
  'authorization',
  'cookie',
  'password',
  'token',
];
const redact = {
  paths: secretFields.flatMap((name) => [name, `*.${name}`]),
  censor: '[redacted]',
};

const ignore: WriteLog = () => {};
const silentLog: LazyLog = Object.freeze({
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
  open: () => {},
});

const load = createRequire(import.meta.url);

/** Costs nothing until its first line: every program and every replica that imports this package has one, and few write. */
export function createLog(options: LogOptions): LazyLog {
  if (options.level === 'silent') return silentLog;
  let opened: Log | undefined;
  const open = (): Log => {
    opened ??= openLog(options);
    return opened;
  };
  return {
    debug: (fields, message) => open().debug(fields, message),
    info: (fields, message) => open().info(fields, message),
    warn: (fields, message) => open().warn(fields, message),
    error: (fields, message) => open().error(fields, message),
    open,
  };
}

function openLog({ level, base, pretty, write }: LogOptions): Log {
  const { pino } = load('pino') as typeof import('pino');
  const toLine = (pretty ?? process.stderr.isTTY) ? prettyLine() : escapeLine;
  const put = write ?? createLineSink(2);
  const logger = pino(
    {
      level,
      redact,
      base: { pid: process.pid, ...base },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (json) => put(toLine(json)) },
  );
  return {
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
  };
}

/**
 * Escapes the control characters that JSON leaves as they are: JSON escapes only the first 32. The others would reach
 * the terminal of whoever reads the log. They occur only within strings, where \uXXXX means the same.
 */
function escapeLine(json: string): string {
  return `${escapeControls(json.slice(0, -1))}\n`;
}
