import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/** What a file holds; undefined if it can't be read. */
type ReadFile = (path: string) => string | undefined;

/** The least CPU time that a control group, or one above it, gives to this process. */
interface CpuQuota {
  /** Of one core: 0.5 is half of one. */
  readonly cores: number;
  /** The file that says so. */
  readonly file: string;
}

/** Where one hierarchy of control groups is mounted. */
interface Mount {
  /** Which of its groups stands at `point`. */
  readonly root: string;
  readonly point: string;
  readonly version: 1 | 2;
}

/**
 * The CPU quota of this process, undefined if there is none. Node's `availableParallelism` knows the cores that a
 * process may run on, and not for how long.
 *
 * Both versions of control groups are read, since a hybrid system has them side by side: `cpu.max` of version 2,
 * `cpu.cfs_quota_us` and `cpu.cfs_period_us` of version 1. A quota holds for all groups below its own, so the least one
 * from the process's group upwards counts. What can't be read, or makes no sense, is no quota.
 *
 * @param read of `/proc/self/mountinfo`, `/proc/self/cgroup` (proc(5), cgroups(7)) and what they lead to
 */
export function readCpuQuota(read: ReadFile): CpuQuota | undefined {
  const groups = readGroups(read('/proc/self/cgroup') ?? '');
  let least: CpuQuota | undefined;
  for (const mount of readMounts(read('/proc/self/mountinfo') ?? '')) {
    const group = groups[mount.version];
    if (group === undefined) continue;
    for (const folder of foldersUpwards(mount, group)) {
      const quota = quotaOf(read, folder, mount.version);
      if (quota !== undefined && (least === undefined || quota.cores < least.cores)) least = quota;
    }
  }
  return least;
}

/** The group of this process in each hierarchy that can hold a CPU quota. */
function readGroups(text: string): Partial<Record<1 | 2, string>> {
  const groups: Partial<Record<1 | 2, string>> = {};
  for (const line of text.split('\n')) {
    const [, id, controllers = '', path] = /^(\d+):([^:]*):(\/.*)$/.exec(line) ?? [];
    if (path === undefined) continue;
    if (id === '0' && controllers === '') groups[2] = path;
    else if (controllers.split(',').includes('cpu')) groups[1] = path;
  }
  return groups;
}

function readMounts(text: string): Mount[] {
  const mounts: Mount[] = [];
  for (const line of text.split('\n')) {
    // What stands before the dash has a number of fields that varies.
    const [before = '', behind] = line.split(' - ');
    const [, , , root, point] = before.split(' ');
    const [type, , options = ''] = behind?.split(' ') ?? [];
    if (root === undefined || point === undefined) continue;
    if (type === 'cgroup2') mounts.push({ root, point, version: 2 });
    else if (type === 'cgroup' && options.split(',').includes('cpu')) {
      mounts.push({ root, point, version: 1 });
    }
  }
  return mounts;
}

/** The folders of a group and of all above it that are mounted. */
function foldersUpwards({ root, point }: Mount, group: string): string[] {
  // A group outside of what is mounted, or of the process's namespace, is not seen: what is mounted holds for it or nothing.
  const top = root === '/' ? '' : root;
  const isInside = (group === top || group.startsWith(`${top}/`)) && !group.includes('/..');
  const names = isInside ? group.slice(top.length).split('/') : [];
  const folders = [point];
  for (const name of names) {
    if (name !== '') folders.push(`${folders.at(-1)}/${name}`);
  }
  return folders.reverse();
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
