import { readdirSync, readFileSync } from 'node:fs';

/** How many files this process may have open, and how many it has. Sockets, pipes and threads take some too. */
export interface OpenFiles {
  readonly limit: number;
  readonly open: number;
}

/**
 * What the process keeps for itself: files and sockets of procedures, the log, a thread that ends slowly.
 */
const spareFiles = 32;

/** A thread at rest: its event loop and what wakes it. */
const perThread = 8;

/** A thread that loads opens the files of its modules side by side; measured with TypeBox, which has hundreds. */
const perLoad = 72;

/** Of one thread alone. Below it a reload would always fail. */
const leastForLoads = 130;

/** @returns undefined where the system does not say */
export function readOpenFiles(): OpenFiles | undefined {
  try {
    const limit = readLimit();
    if (limit === undefined) return undefined;
    const folder = process.platform === 'linux' ? '/proc/self/fd' : '/dev/fd';
    // One of them is the folder that is read.
    return { limit, open: readdirSync(folder).length - 1 };
  } catch {
    return undefined;
  }
}

/** The soft limit, which is the one that holds; Node raises it to the hard one when it starts. */
function readLimit(): number | undefined {
  if (process.platform === 'linux') {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    return toNumber(/^Max open files\s+(\S+)/m.exec(limits)?.[1]);
  }
  // Slow, and done once: the report is of everything.
  const report = process.report.getReport() as {
    readonly userLimits?: { readonly open_files?: { readonly soft?: unknown } };
  };
  return toNumber(report.userLimits?.open_files?.soft);
}

function toNumber(value: unknown): number | undefined {
  const limit = Number(value);
  return Number.isFinite(limit) ? limit : undefined;
}

/** How many connections fit beside what else the process opens. */
export interface Room {
  readonly connections: number;
  /** The limit that `wanted` connections would take. */
  readonly neededLimit: number;
}

/**
 * Connections beyond it would take the files that a reload, a new thread or the listener itself needs: accepting
 * then fails without an end, since what waits to be accepted stays there.
 *
 * @param threads worker threads and spares, which a reload has twice for a while
 */
export function roomFor(wanted: number, { limit, open }: OpenFiles, threads: number): Room {
  const own = open + spareFiles + (2 * threads + 1) * perThread;
  const left = Math.max(0, limit - own);
  const loads = Math.max(leastForLoads, threads * perLoad);
  // Where there are few files and many threads, loading gets the larger part, not all.
  const kept = Math.min(loads, Math.max(leastForLoads, Math.floor((left * 3) / 4)));
  const connections = Math.max(left - kept, Math.floor(left / 4), 1);
  return { connections: Math.min(wanted, connections), neededLimit: wanted + own + loads };
}

/** For the log: what the limit means, and what to do. undefined: all connections fit. */
export function openFilesNote(wanted: number, limit: number, room: Room): string | undefined {
  if (room.connections >= wanted) return undefined;
  const { connections, neededLimit } = room;
  return (
    `at most ${limit} files may be open, which leaves room for ${connections} connections, not for ${wanted}: ` +
    `raise the limit (ulimit -n ${neededLimit}, or LimitNOFILE=${neededLimit} for systemd), ` +
    `or set maxConnections to ${connections}`
  );
}

/** What else there is to say of an error: nothing but the limit of open files explains some. */
export function openFilesAdvice(message: string): string {
  // A server process has it said already when its supervisor says it.
  return /\b(?:EMFILE|ENFILE)\b(?!.*LimitNOFILE)/s.test(message)
    ? `${message}: more files are needed than may be open; raise the limit (ulimit -n 4096, or LimitNOFILE=4096 for systemd)`
    : message;
}
