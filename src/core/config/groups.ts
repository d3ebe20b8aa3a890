import { groupNameAllowed, isGroupName } from '../base/place.ts';
import { suggest } from '../base/suggest.ts';
import { isObject } from '../base/value-kinds.ts';
import { bytes, duration, type Fault, integer, type Kind, splitList } from './kinds.ts';

/**
 * What is said of workers, those of a group and those that have none: the options of the service take the same kinds. A
 * group takes from them what it does not say itself, but for `workers`.
 */
export const groupOptionKinds = {
  workers: integer({ min: 1, max: 1024 }),
  spareWorkers: integer({ min: 0, max: 64 }),
  workerMemoryMb: integer({ min: 16, max: 1_048_576, orZero: true }, 'mb'),
  maxWorkerMemory: bytes({ min: 16 * 1024 ** 2, max: 1024 ** 4, orZero: true }),
  maxQueue: integer({ min: 0, max: 10_000_000 }),
  maxQueueMs: duration(1),
} as const satisfies Record<string, Kind<number>>;

type GroupOption = keyof typeof groupOptionKinds;

export type GroupOptions = Readonly<Record<GroupOption, number>>;

/** The groups as an operator gives them: what is left out comes from the service's own options. */
export type GivenGroups = Readonly<Record<string, Partial<GroupOptions>>>;

const memberNames = Object.keys(groupOptionKinds) as readonly GroupOption[];

/** A group that does not say so has one worker. Those of the service leave a core to the main thread as it is. */
const workersOfGroup = 1;

/** `gpu:workers=1,workerMemoryMb=4096`, in code an object of these by name; the word `none` is no group. */
export function workerGroups(): Kind<GivenGroups> {
  return {
    placeholder: 'group',
    allowed: `none, or groups of workers by name with ${memberNames.join(', ')}: gpu:workers=1,workerMemoryMb=4096; in code an object of such objects`,
    repeatable: true,
    fromText: readGroups,
    check: (value) => {
      if (value === 'none') return Object.freeze({});
      return isObject(value) && faultOf(value) === undefined ? settled(value) : undefined;
    },
    faultOf: (value) => (isObject(value) ? faultOf(value) : undefined),
    toText: (groups: GivenGroups) => {
      const texts = Object.entries(groups).map(([name, group]) => {
        const members = Object.entries(group).map(([member, given]) => `${member}=${given}`);
        return `${name}:${members.join(',')}`;
      });
      return texts.join(',') || 'none';
    },
  };
}

/**
 * Groups with all of their members.
 *
 * @param own the service's options
 */
export function completeGroups(
  groups: GivenGroups,
  own: Readonly<Record<string, unknown>>,
): Readonly<Record<string, GroupOptions>> {
  const complete = Object.entries(groups).map(([name, group]) => {
    const members = memberNames.map((member): [GroupOption, number] => {
      const inherited = member === 'workers' ? workersOfGroup : Number(own[member]);
      return [member, group[member] ?? inherited];
    });
    return [name, Object.freeze(Object.fromEntries(members))];
  });
  return Object.freeze(Object.fromEntries(complete));
}

export function threadsOf({
  workers,
  spareWorkers,
  groups,
}: Pick<GroupOptions, 'workers' | 'spareWorkers'> & {
  readonly groups: Readonly<Record<string, GroupOptions>>;
}): number {
  const groupSizes = [{ workers, spareWorkers }, ...Object.values(groups)];
  return groupSizes.reduce((sum, size) => sum + size.workers + size.spareWorkers, 0);
}

/** `a:workers=2,spareWorkers=0,b` is two groups. What can't be read stays text, which `check` refuses. */
function readGroups(text: string): unknown {
  if (text.trim() === 'none') return 'none';
  const groups: Record<string, Record<string, unknown>> = Object.create(null);
  let group: Record<string, unknown> | undefined;
  for (const entry of splitList(text)) {
    const [, name, member] = /^(?:([^:=]*)(?::|$))?(.*)$/.exec(entry) ?? [];
    if (name !== undefined) {
      groups[name.trim()] ??= {};
      group = groups[name.trim()];
    }
    if (!member) continue;
    const [, key = '', value] = /^\s*([^=]*?)\s*=(.*)$/.exec(member) ?? [];
    if (group === undefined || value === undefined) return text;
    group[key] = isMember(key) ? groupOptionKinds[key].fromText(value) : value;
  }
  return groups;
}

/** The first thing about the groups that can't be; undefined: there is none. */
function faultOf(groups: object): Fault | undefined {
  for (const [name, group] of Object.entries(groups) as [string, unknown][]) {
    if (!isGroupName(name))
      return { where: 'the name of a group', allowed: groupNameAllowed, given: name };
    const where = `the group ${name}`;
    if (!isObject(group))
      return { where, allowed: `an object of ${memberNames.join(', ')}`, given: group };
    for (const [member, given] of Object.entries(group)) {
      if (!isMember(member)) {
        return {
          where: `the members of ${where}`,
          allowed: memberNames.join(', '),
          given: member,
          near: suggest(member, memberNames),
        };
      }
      const { check, allowed } = groupOptionKinds[member];
      if (given !== undefined && check(given) === undefined) {
        return { where: `${member} of ${where}`, allowed, given };
      }
    }
  }
  return undefined;
}

function settled(groups: object): GivenGroups {
  const all = Object.entries(groups as GivenGroups).map(([name, group]) => {
    const given = Object.entries(group).filter(([, value]) => value !== undefined);
    return [name, Object.freeze(Object.fromEntries(given))];
  });
  return Object.freeze(Object.fromEntries(all));
}

function isMember(name: string): name is GroupOption {
  return Object.hasOwn(groupOptionKinds, name);
}
