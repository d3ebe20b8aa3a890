import { readdirSync, readFileSync } from 'node:fs';

/**
 * How many files this process may have open, and how many it has. Sockets and pipes count as files, and each thread
 * takes some.
 */
export interface OpenFiles {
  readonly limit: number;
  readonly open: number;
}

/** Files kept for the process itself: files and sockets of procedures, the log, a thread that ends slowly. */
const spareFiles = 32;

/** Files of an idle thread: its event loop and what wakes the loop. */
const perThread = 8;

/**
 * Files of a thread that loads: it opens the files of its modules side by side. Measured with TypeBox, which has
 * hundreds.
 */
const perLoad = 72;

/** Files that a single loading thread needs. With fewer, a reload would always fail. */
const minForLoads = 130;

/** @returns undefined where the system does not say */
export function readOpenFiles(): OpenFiles | undefined {
  try {
    const limit = readLimit();
    if (limit === undefined) return undefined;
    const folder = process.platform === 'linux' ? '/proc/self/fd' : '/dev/fd';
    // Not counted: the folder that is read here, which is open too.
    return { limit, open: readdirSync(folder).length - 1 };
  } catch {
    return undefined;
  }
}

/**
 * The soft limit of open files, which is the limit that holds. Node raises the soft limit to the hard one when it
 * starts.
 */
function readLimit(): number | undefined {
  if (process.platform === 'linux') {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    return toNumber(/^Max open files\s+(\S+)/m.exec(limits)?.[1]);
  }
  // A report is slow, since it holds everything about the process. It is made once.
  const report = process.report.getReport() as {
    readonly userLimits?: { readonly open_files?: { readonly soft?: unknown } };
  };
  return toNumber(report.userLimits?.open_files?.soft);
}

function toNumber(value: unknown): number | undefined {
  const limit = Number(value);
  return Number.isFinite(limit) ? limit : undefined;
}

/** How many connections fit beside the other files that the process opens. */
export interface Room {
  readonly connections: number;
  /** The limit of open files that `wanted` connections would need. */
  readonly neededLimit: number;
}

/**
 * More connections than this would take the files that a reload, a new thread or the listener itself needs. Accepting
 * connections would then fail again and again, since a connection that waits to be accepted stays in the queue.
 *
 * @param threads worker threads and spares; a reload has twice as many for a while
 */
export function roomFor(wanted: number, { limit, open }: OpenFiles, threads: number): Room {
  const own = open + spareFiles + (2 * threads + 1) * perThread;
  const left = Math.max(0, limit - own);
  const loads = Math.max(minForLoads, threads * perLoad);
  // Where there are few files and many threads, loading gets three quarters of the files that are left, not all.
  const kept = Math.min(loads, Math.max(minForLoads, Math.floor((left * 3) / 4)));
  const connections = Math.max(left - kept, Math.floor(left / 4), 1);
  return { connections: Math.min(wanted, connections), neededLimit: wanted + own + loads };
}

/** The line for the log: what the limit means, and what to do; undefined where all connections fit. */
export function openFilesNote(wanted: number, limit: number, room: Room): string | undefined {
  if (room.connections >= wanted) return undefined;
  const { connections, neededLimit } = room;
  return (
    `at most ${limit} files may be open, which leaves room for ${connections} connections, not for ${wanted}: ` +
    `raise the limit (ulimit -n ${neededLimit}, or LimitNOFILE=${neededLimit} for systemd), ` +
    `or set maxConnections to ${connections}`
  );
}

/**
 * Adds advice to an error's message where the limit of open files is the cause. The codes EMFILE and ENFILE alone
 * do not say what to do.
 */
export function openFilesAdvice(message: string): string {
  // A server process has added the advice already when its supervisor prints the message.
  return /\b(?:EMFILE|ENFILE)\b(?!.*LimitNOFILE)/s.test(message)
    ? `${message}: more files are needed than may be open; raise the limit (ulimit -n 4096, or LimitNOFILE=4096 for systemd)`
    : message;
}
