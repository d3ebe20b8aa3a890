import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { type CpuQuota, readCpuQuota } from './cpu-quota.ts';

/** The cores that this process can keep busy. */
export interface Cores {
  /** At least 1. */
  readonly count: number;
  /** The quota that leaves fewer than the machine has; undefined: the machine, or the process's affinity, decides. */
  readonly quota: CpuQuota | undefined;
}

/**
 * Rounded down: the kernel stops all threads of a process that has used its quota up, the front end too, until the
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

/** `on 2 cores`, and where a quota says so, its file. */
export function coresText({ count, quota }: Cores): string {
  const cores = count === 1 ? '1 core' : `${count} cores`;
  if (quota === undefined) return cores;
  return `${cores}: ${quota.file} allows ${Math.round(quota.cores * 100) / 100}`;
}

/** For the log: what a start with one core means for a service with workers. undefined: there are more. */
export function oneCoreNote({ count, quota }: Cores): string | undefined {
  if (count > 1) return undefined;
  const shared =
    'one core: the front end and the workers take turns on it, so that a light call may wait some milliseconds for a heavy one';
  return quota === undefined
    ? shared
    : `${shared}, and all of them stop until the next period once they have used up what ${quota.file} allows`;
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
