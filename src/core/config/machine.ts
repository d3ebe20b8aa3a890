import { availableParallelism, totalmem } from 'node:os';
import {
  controlGroups,
  type MemoryLimit,
  type ReadFile,
  readMemoryLimit,
  readText,
} from '../base/control-groups.ts';
import { counted } from '../base/text.ts';

/** What the machine, or the container, leaves to this process: cores, and memory for its workers. */

/** The least CPU time that a control group, or one above it, gives to this process. */
interface CpuQuota {
  /** Of one core: 0.5 is half of one. */
  readonly cores: number;
  /** The file that says so. */
  readonly file: string;
}

/**
 * The CPU quota of this process, undefined if there is none. Node's `availableParallelism` knows the cores that a
 * process may run on, and not for how long.
 *
 * `cpu.max` of version 2, `cpu.cfs_quota_us` and `cpu.cfs_period_us` of version 1: the least of the groups counts. What
 * can't be read, or makes no sense, is no quota.
 */
export function readCpuQuota(read: ReadFile): CpuQuota | undefined {
  let least: CpuQuota | undefined;
  for (const { folder, version } of controlGroups(read, 'cpu')) {
    const quota = quotaOf(read, folder, version);
    if (quota !== undefined && (least === undefined || quota.cores < least.cores)) least = quota;
  }
  return least;
}

/** undefined for `max`, for -1, and for what is no pair of positive numbers. */
function quotaOf(read: ReadFile, folder: string, version: 1 | 2): CpuQuota | undefined {
  const file = `${folder}/${version === 2 ? 'cpu.max' : 'cpu.cfs_quota_us'}`;
  const period = version === 2 ? '' : ` ${read(`${folder}/cpu.cfs_period_us`)}`;
  const [, quotaUs, periodUs] = /^([1-9]\d*)\s+([1-9]\d*)\s*$/.exec(`${read(file)}${period}`) ?? [];
  if (quotaUs === undefined) return undefined;
  return { cores: Number(quotaUs) / Number(periodUs), file };
}

/** The cores that this process can keep busy. */
export interface Cores {
  /** At least 1. */
  readonly count: number;
  /** The quota that leaves fewer than the machine has; undefined: the machine, or the process's affinity, decides. */
  readonly quota: CpuQuota | undefined;
}

/**
 * Rounded down: the kernel stops all threads of a process that has used its quota up, the main thread too, until the
 * next period begins. Half a core left over costs less than that.
 *
 * @param available what the machine, or the affinity of the process, allows
 */
export function toCores(available: number, quota: CpuQuota | undefined): Cores {
  if (quota === undefined || quota.cores >= available)
    return { count: available, quota: undefined };
  return { count: Math.max(1, Math.floor(quota.cores)), quota };
}

let known: Cores | undefined;

/** Looked up once: a process that is given more or less meanwhile takes that into account when it starts anew. */
export function coresHere(): Cores {
  known ??= toCores(availableParallelism(), readCpuQuota(readText));
  return known;
}

/** `on 2 cores`, and if a quota says so, its file. */
export function coresText({ count, quota }: Cores): string {
  const cores = counted(count, 'core');
  if (quota === undefined) return cores;
  return `${cores}: ${quota.file} allows ${Math.round(quota.cores * 100) / 100}`;
}

/** For the log: what a start with one core means for a service with workers. undefined: there are more. */
export function oneCoreNote({ count, quota }: Cores): string | undefined {
  if (count > 1) return undefined;
  const shared =
    'one core: the main thread and the workers take turns on it, so that a light call may wait some milliseconds for a heavy one';
  return quota === undefined
    ? shared
    : `${shared}, and all of them stop until the next period once they have used up what ${quota.file} allows`;
}

const mb = 1024 ** 2;

/** What a process needs beside the heaps of its workers: its main thread, code, bodies and replies. The supervisor is counted, too. */
const processMb = 160;

/** With less a worker can hardly load its modules. */
const minMb = 64;

/**
 * The heap limit of each worker, in MB: an equal share of what the memory limit of the container leaves. V8's own default goes by
 * the memory of the machine, so that one worker could have the system end the process. 0: there is no such limit.
 *
 * @param threads workers and spares of one process
 */
export function workerMemoryWithin(
  limit: MemoryLimit | undefined,
  processes: number,
  threads: number,
): number {
  if (limit === undefined) return 0;
  return Math.max(minMb, Math.floor((limit.bytes / mb / processes - processMb) / threads));
}

export function workerMemoryHere(processes: number, threads: number): number {
  return workerMemoryWithin(readMemoryLimit(readText, totalmem()), processes, threads);
}
