import { readFileSync } from 'node:fs';

/** What a file holds; undefined if it can't be read. */
export type ReadFile = (path: string) => string | undefined;

/** A folder of a control group. */
export interface GroupFolder {
  readonly folder: string;
  readonly version: 1 | 2;
}

/** Where one hierarchy of control groups is mounted. */
interface Mount {
  /** Which of its groups stands at `point`. */
  readonly root: string;
  readonly point: string;
  readonly version: 1 | 2;
}

/**
 * The control groups of this process that a controller may limit, in each hierarchy from its own group upwards: a limit holds for
 * all groups below its own. Both versions are read, since a hybrid system has them side by side.
 *
 * @param read of `/proc/self/mountinfo`, `/proc/self/cgroup` (proc(5), cgroups(7)) and what they lead to
 */
export function controlGroups(read: ReadFile, controller: 'cpu' | 'memory'): GroupFolder[] {
  const groups = readGroups(read('/proc/self/cgroup') ?? '', controller);
  return readMounts(read('/proc/self/mountinfo') ?? '', controller).flatMap((mount) => {
    const { version } = mount;
    const group = groups[version];
    if (group === undefined) return [];
    return foldersUpwards(mount, group).map((folder) => ({ folder, version }));
  });
}

/** The least memory that a control group, or one above it, gives to this process. */
export interface MemoryLimit {
  readonly bytes: number;
  /** The file that says so. */
  readonly file: string;
}

/** `memory.max` of version 2, `memory.limit_in_bytes` of version 1. undefined: there is none below `machineBytes`. */
export function readMemoryLimit(read: ReadFile, machineBytes: number): MemoryLimit | undefined {
  let least: MemoryLimit | undefined;
  for (const { folder, version } of controlGroups(read, 'memory')) {
    const file = `${folder}/${version === 2 ? 'memory.max' : 'memory.limit_in_bytes'}`;
    const bytes = Number(/^[1-9]\d*$/.exec(read(file)?.trim() ?? '')?.[0] ?? machineBytes);
    if (bytes < (least?.bytes ?? machineBytes)) least = { bytes, file };
  }
  return least;
}

/** How many processes of its control group the system has ended for want of memory; undefined: nobody counts them. */
export function readMemoryKills(read: ReadFile): number | undefined {
  for (const { folder, version } of controlGroups(read, 'memory')) {
    const text = read(`${folder}/${version === 2 ? 'memory.events' : 'memory.oom_control'}`);
    const [, kills] = /^oom_kill (\d+)$/m.exec(text ?? '') ?? [];
    if (kills !== undefined) return Number(kills);
  }
  return undefined;
}

export function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

/** The group of this process in each version. */
function readGroups(text: string, controller: string): Partial<Record<1 | 2, string>> {
  const groups: Partial<Record<1 | 2, string>> = {};
  for (const line of text.split('\n')) {
    const [, id, controllers = '', path] = /^(\d+):([^:]*):(\/.*)$/.exec(line) ?? [];
    if (path === undefined) continue;
    if (id === '0' && controllers === '') groups[2] = path;
    else if (controllers.split(',').includes(controller)) groups[1] = path;
  }
  return groups;
}

function readMounts(text: string, controller: string): Mount[] {
  const mounts: Mount[] = [];
  for (const line of text.split('\n')) {
    // What stands before the dash has a number of fields that varies.
    const [before = '', behind] = line.split(' - ');
    const [, , , root, point] = before.split(' ');
    const [type, , options = ''] = behind?.split(' ') ?? [];
    if (root === undefined || point === undefined) continue;
    if (type === 'cgroup2') mounts.push({ root, point, version: 2 });
    else if (type === 'cgroup' && options.split(',').includes(controller)) {
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
