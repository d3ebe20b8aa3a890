import { writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { clockMs } from '../base/clock.ts';
import { escapeControls } from '../base/escape.ts';
import { LineLimiter, type NamedLines } from '../base/line-limiter.ts';
import type { LogEvent } from './events.ts';

export type LogLevel = 'silent' | 'error' | 'warn' | 'info' | 'debug';

/** A function is called for the value of its field if the line is written: it formats a stack, for instance. */
export type LogFields = Readonly<Record<string, unknown>>;

/** One event per line: its name and facts as fields, then a message for people. */
type WriteLog = (fields: LogFields & { readonly event: LogEvent }, message: string) => void;

/** A log as the rest of the code sees it. Params and results are never passed to it. */
export interface Log {
  readonly debug: WriteLog;
  readonly info: WriteLog;
  readonly warn: WriteLog;
  readonly error: WriteLog;
}

/** A log of one function a level. */
export function logOf(writeAt: (level: Level) => WriteLog): Log {
  return {
    debug: writeAt('debug'),
    info: writeAt('info'),
    warn: writeAt('warn'),
    error: writeAt('error'),
  };
}

/** Whether this can be written to, as a logger of pino can. */
export function isLog(value: unknown): value is Log {
  if (typeof value !== 'object' || value === null) return false;
  const log = value as Partial<Record<keyof Log, unknown>>;
  return [log.debug, log.info, log.warn, log.error].every((write) => typeof write === 'function');
}

/** The log of this process. What writes its lines is loaded when the first of them is written. */
export interface OwnLog extends Log {
  readonly level: LogLevel;
  /** From now on lines of this level, and of those above it, are written. */
  setLevel(level: LogLevel): void;
  /** Writes a line whatever the level is: what was changed in a running service must be seen. */
  readonly always: WriteLog;
  /** Loads that now, while there are file descriptors left for it. Idempotent. */
  open(): void;
}

/**
 * Bytes of the lines of all processes of a service together: nobody may fill the disk by making calls fail. A stack takes 1 to 10 KB.
 */
export const maxLogBytesPerSecond: number = 1024 ** 2;

export interface LogOptions {
  readonly level: LogLevel;
  readonly base?: LogFields;
  /** Readable lines instead of JSON. Default: only when stderr is a terminal. */
  readonly pretty?: boolean;
  /** Where finished lines go. Default: stderr. */
  readonly write?: (line: string) => void;
  /** Bytes of all lines together, but for the access log. Default: {@link maxLogBytesPerSecond}. */
  readonly maxBytesPerSecond?: number;
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

const secretName =
  /^(?:params|result|auth|headers|authorization|(?:set-)?cookie|.*(?:password|passwd|secret|token|api[-_]?key))$/i;

/** Hides secrets at any depth, as a reviver of JSON.parse: for the fields that a procedure logs. */
export function hideSecrets(name: string, value: unknown): unknown {
  return secretName.test(name) ? redact.censor : value;
}

const levels = ['error', 'warn', 'info', 'debug'] as const;
const load = createRequire(import.meta.url);

/** Costs nothing until its first line: every program and every replica that imports this package has one, and few write. */
export function createLog(options: LogOptions): OwnLog {
  const { maxBytesPerSecond = maxLogBytesPerSecond } = options;
  let { level } = options;
  /** So many of `levels` are written. */
  let written = countOf(level);
  let opened: PutLine | undefined;
  const open = (): PutLine => {
    opened ??= openLog(options);
    return opened;
  };
  const log = limitLog((...line) => open()(...line), maxBytesPerSecond);
  const at = (name: Level): WriteLog => {
    const rank = levels.indexOf(name);
    const writeLine = log[name];
    return (fields, message) => {
      if (rank < written) writeLine(fields, message);
    };
  };
  return {
    ...log,
    ...logOf(at),
    get level() {
      return level;
    },
    setLevel: (changed) => {
      level = changed;
      written = countOf(changed);
    },
    always: log.warn,
    open: () => void (written > 0 && open()),
  };
}

function countOf(level: LogLevel): number {
  return level === 'silent' ? 0 : levels.indexOf(level) + 1;
}

function openLog({ base, pretty, write }: LogOptions): PutLine {
  const { pino } = load('pino') as typeof import('pino');
  const toLine = (pretty ?? process.stderr.isTTY) ? prettyLine() : escapeLine;
  const sink = new LineSink((count) => {
    put(
      'warn',
      { event: 'output-lost', count },
      'lines were lost: the log is read too slowly',
      true,
    );
  });
  let isRare = false;
  let bytes = 0;
  const writeLine = (line: string): void => {
    bytes = write === undefined ? sink.put(line, isRare) : Buffer.byteLength(line);
    write?.(line);
  };
  const logger = pino(
    {
      level: 'debug',
      redact,
      base: { pid: process.pid, ...base },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (json) => writeLine(toLine(json)) },
  );
  const put: PutLine = (at, fields, message, rare) => {
    isRare = rare;
    logger[at](fields, message);
    return bytes;
  };
  return put;
}

/**
 * Escapes the control characters that JSON leaves as they are: JSON escapes only the first 32. The others would reach
 * the terminal of whoever reads the log. They occur only within strings, where \uXXXX means the same.
 */
function escapeLine(json: string): string {
  return `${escapeControls(json.slice(0, -1))}\n`;
}

type Level = Exclude<LogLevel, 'silent'>;

/**
 * Writes a line.
 *
 * @param isRare it may take the room that is kept for lines that do not come in numbers
 * @returns its size in bytes; 0: nobody knows
 */
type PutLine = (
  level: Level,
  fields: LogFields & { readonly event: LogEvent },
  message: string,
  isRare: boolean,
) => number;

/** Whole lines of one event and name in a second. */
const usualLines = 10;
const otherLines: { readonly [Event in LogEvent]?: number } = {
  // Each thread bounds these itself, see `CallLines`.
  'procedure-log': Number.POSITIVE_INFINITY,
  // A gateway that starts may find many members at once.
  'member-joined': 100,
  'member-silent': 100,
  'member-back': 100,
  'member-left': 100,
  'member-gone': 100,
};

/** The first of these fields that a line has tells its lines from others of the same event. None holds what a caller sent. */
const nameFields = ['method', 'hook', 'broadcast', 'group', 'process'] as const;

/** What may be written of `maxBytesPerSecond`: of all names together, and of one. The rest is for the first line of each event. */
const shareOfAll = 7 / 8;
const shareOfOne = 1 / 2;

/** Most names that are told one by one when their lines were dropped. */
const maxTold = 20;

const isLimited = Symbol('isLimited');

interface Facts {
  readonly level: Level;
  readonly limited: string;
  readonly [field: string]: unknown;
}

/**
 * A log to which nobody can make more than so much be written in a second, but for the access log: a line for each call
 * is what it is for. The first line of each event is written in any case. What is dropped is counted, and the count is a
 * line.
 */
function limitLog(put: PutLine, maxBytesPerSecond: number): Log {
  const limiter = new LineLimiter<Facts>((dropped) => tellDropped(put, dropped));
  const at =
    (level: Level): WriteLog =>
    (fields, message) => {
      const { event } = fields;
      if (event === 'call' || event === 'stream') {
        put(level, fields, message, false);
        return;
      }
      const isCount = event === 'log-limited';
      const of = isCount ? String(fields.limited) : event;
      const field = nameFields.find((name) => fields[name] !== undefined) ?? '';
      const facts: Facts = { level, limited: of, ...(field && { [field]: fields[field] }) };
      limiter.turn();
      const lines = limiter.of(`${level} ${of} ${String(fields[field])}`, facts);
      if (isCount) {
        limiter.drop(lines, Number(fields.count));
        return;
      }
      const same = limiter.of(event, facts);
      const all = limiter.of('', facts);
      const isRare = same.written === 0;
      const isOver =
        lines.written >= (otherLines[event] ?? usualLines) ||
        lines.bytes >= maxBytesPerSecond * shareOfOne ||
        all.bytes >= maxBytesPerSecond * shareOfAll;
      if (isOver && !isRare) {
        limiter.drop(lines, 1);
        return;
      }
      same.written++;
      lines.written++;
      const bytes = put(level, settled(fields), message, isRare);
      lines.bytes += bytes;
      all.bytes += bytes;
    };
  return Object.assign(logOf(at), { [isLimited]: true });
}

/**
 * A logger that the caller has given, limited by lines: how many bytes it makes of them is not known. A line at which it throws
 * or rejects is lost and counted: lines are written in timers and listeners too, where an error would end the process.
 */
export function limitGivenLog(log: Log): Log {
  if (isLimited in log) return log;
  return limitLog((level, fields, message) => {
    try {
      // A logger may be asynchronous all the same.
      const written: unknown = log[level](fields, message);
      if (written instanceof Promise) written.catch(noteLostOutput);
    } catch {
      noteLostOutput();
    }
    return 0;
  }, Number.POSITIVE_INFINITY);
}

/** The fields, with the values of those that are functions. */
function settled<F extends LogFields>(fields: F): F {
  const entries = Object.entries(fields);
  const values = entries.map(([name, value]): [string, unknown] => [
    name,
    typeof value === 'function' ? (value as () => unknown)() : value,
  ]);
  // The names are the same.
  return Object.fromEntries(values) as F;
}

function tellDropped(put: PutLine, dropped: readonly NamedLines<Facts>[]): void {
  const text = 'further lines like these were not written';
  for (const { facts, dropped: count } of dropped.slice(0, maxTold)) {
    const { level, ...fields } = facts;
    put(level, { event: 'log-limited', ...fields, count }, text, true);
  }
  const others = dropped.slice(maxTold);
  if (others.length === 0) return;
  const count = others.reduce((sum, lines) => sum + lines.dropped, 0);
  put('warn', { event: 'log-limited', count }, 'further lines were not written', true);
}

const hidden = new Set([
  'level',
  'event',
  'time',
  'pid',
  'hostname',
  'msg',
  'stack',
  'detail',
  'err',
]);

function fieldText(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return escapeControls(/^[^\s"=]+$/.test(text) ? text : JSON.stringify(value));
}

function stackLines(value: unknown): string {
  const stack =
    typeof value === 'object' && value !== null && 'stack' in value ? value.stack : value;
  if (typeof stack !== 'string') return '';
  // Each line is indented, so that none can be taken for a line of the log.
  const indented = (line: string) => `\n    ${escapeControls(line)}`;
  return stack.split('\n').map(indented).join('');
}

/** Returns a function that makes a JSON line of pino readable: time, level, message, name=value, then stacks. */
function prettyLine(): (json: string) => string {
  const { prettyFactory } = load('pino-pretty') as typeof import('pino-pretty');
  return prettyFactory({
    colorize: process.env.NO_COLOR === undefined,
    translateTime: 'SYS:HH:MM:ss.l',
    ignore: 'pid,hostname',
    hideObject: true,
    messageFormat: (log) => {
      const fields = Object.entries(log)
        .filter(([name]) => !hidden.has(name))
        .map(([name, value]) => ` ${escapeControls(name)}=${fieldText(value)}`);
      const stacks = [log.stack, log.detail, log.err].map(stackLines);
      return escapeControls(String(log.msg)) + fields.join('') + stacks.join('');
    },
  });
}

/** Most bytes of lines that wait for a reader that has fallen behind. Further lines are lost. */
const maxWaiting = 512 * 1024;
/** What ordinary lines may take of it. The rest is kept for rare lines. */
const maxOrdinary = maxWaiting / 2;
/** How often a reader that has fallen behind is tried again. A try costs some microseconds. */
const retryMs = 5;
/** How often it is told that lines were lost. */
const tellMs = 1000;
/** How long the end of the process may wait for the reader. */
const lastWaitMs = 100;

/** The file descriptor. A pipe must be non-blocking: reading `process.stderr` once makes it so. */
const stderr = 2;

const nobody = new Int32Array(new SharedArrayBuffer(4));

/**
 * Writes lines to stderr, each at once, so that the last line before a crash is written. It never throws, and it waits
 * only at the end of the process: if the reader has fallen behind, lines wait in memory. If too many wait, nobody reads
 * any more (a closed pipe) or the file can't grow (a full disk), lines are lost and counted.
 */
class LineSink {
  readonly #onLost: (lines: number) => void;
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  /** The first line that waits, or else the last line that was lost, was written in part. */
  #isTorn = false;
  #triedAt = 0;
  /** Lines that were lost and not told of yet. */
  #lost = 0;
  #lostSince = 0;
  #timer: NodeJS.Timeout | undefined;
  readonly #atExit = (): void => this.#writeLast();

  /** @param onLost called when lines were lost and the reader takes lines again, once a second at most */
  constructor(onLost: (lines: number) => void) {
    this.#onLost = onLost;
  }

  /** @returns the size of the line in bytes */
  put(line: string, isRare: boolean): number {
    if (this.#waiting.length > 0 && clockMs() >= this.#triedAt + retryMs) this.#flush();
    const isFirst = this.#waiting.length === 0;
    const bytes = Buffer.from(isFirst && this.#isTorn ? `\n${line}` : line);
    const room = isRare ? maxWaiting : maxOrdinary;
    if (isFirst || this.#waitingBytes + bytes.length <= room) {
      this.#waiting.push(bytes);
      this.#waitingBytes += bytes.length;
      if (isFirst) this.#flush();
    } else {
      this.#lose(1);
    }
    return bytes.length;
  }

  /** Writes what waits, as much as the reader takes. */
  #flush(): void {
    let done = 0;
    try {
      for (const bytes of this.#waiting) {
        const written = writeSync(stderr, bytes);
        this.#waitingBytes -= written;
        this.#isTorn = written < bytes.length;
        if (this.#isTorn) {
          this.#waiting[done] = bytes.subarray(written);
          break;
        }
        done++;
      }
    } catch (error) {
      const isFull = error instanceof Error && 'code' in error && error.code === 'EAGAIN';
      if (!isFull) {
        this.#lose(this.#waiting.length - done);
        this.#waiting = [];
        this.#waitingBytes = 0;
        this.#tryAfter(undefined);
        return;
      }
    }
    this.#waiting.splice(0, done);
    this.#triedAt = clockMs();
    const { length } = this.#waiting;
    if (done > 0 || length === 0) this.#tellLost();
    const untilTold = this.#lost > 0 ? tellMs : undefined;
    this.#tryAfter(length > 0 ? retryMs : untilTold);
  }

  #tryAfter(ms: number | undefined): void {
    if (this.#timer === undefined) {
      if (ms === undefined) return;
      process.on('exit', this.#atExit);
    }
    clearTimeout(this.#timer);
    // The timer alone must not keep a process alive.
    this.#timer = ms === undefined ? undefined : setTimeout(() => this.#flush(), ms).unref();
    if (ms === undefined) process.off('exit', this.#atExit);
  }

  #lose(lines: number): void {
    if (this.#lost === 0) this.#lostSince = clockMs();
    this.#lost += lines;
    for (let i = 0; i < lines; i++) noteLostOutput();
  }

  #tellLost(): void {
    if (this.#lost === 0 || clockMs() < this.#lostSince + tellMs) return;
    const lost = this.#lost;
    this.#lost = 0;
    this.#onLost(lost);
  }

  #writeLast(): void {
    const until = clockMs() + lastWaitMs;
    while (this.#waiting.length > 0 && clockMs() < until) {
      Atomics.wait(nobody, 0, 0, retryMs);
      this.#flush();
    }
  }
}

let lost = 0;

/** Counts a write to stdout or stderr, or a line of the log, that was lost. */
export function noteLostOutput(): void {
  lost++;
}

/** How many were lost since this process started. */
export function lostOutput(): number {
  return lost;
}
