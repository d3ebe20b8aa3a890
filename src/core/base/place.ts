/**
 * Where a call runs, as the executor there names itself. The name is what metrics, access log, spans and
 * `stats()` show, so it is short, lower case and never changes.
 *
 * Open: an executor brings a name of its own, and whoever is told of calls takes any.
 */
export type Place = 'inline' | 'worker' | (string & Record<never, never>);

/** On the thread that answers. Calls here wait in no queue and travel nowhere. */
export const inlinePlace = 'inline';

/** In a worker thread of this process. */
export const workerPlace = 'worker';

/** On another machine. */
export const remotePlace = 'remote';

/** Of a call that was refused before it had a place. */
export const noPlace = 'none';

/** `default` names the workers that have no group, where people speak of them. */
const groupName = /^(?!default$)[A-Za-z][\w-]{0,31}$/;

/** What a group of workers may be named, as text to follow "expected". */
export const groupNameAllowed =
  '1 to 32 letters, digits, _ or -, beginning with a letter, other than default';

export function isGroupName(value: unknown): value is string {
  return typeof value === 'string' && groupName.test(value);
}

/** The place of calls in the workers of a group; undefined: in those that have no group. */
export function placeOfGroup(group: string | undefined): Place {
  return group === undefined ? workerPlace : `${workerPlace}:${group}`;
}

/** Linux keeps so many bytes of the name of a thread. */
const maxThreadNameLength = 15;

/**
 * The name of a worker's thread for the operating system, as `ps -T` and `top -H` show it: `tw-worker-1`, of a group `tw-gpu-1`.
 *
 * @param seat from 1, among the workers of the group
 */
export function threadNameOf(group: string | undefined, seat: number | string): string {
  const [head, tail] = [`tw-${group ?? workerPlace}`, `-${seat}`];
  return head.slice(0, maxThreadNameLength - tail.length) + tail;
}

/** `a worker`, of a group where it has one: for messages. */
export function aWorkerOf(group: string | undefined): string {
  return group === undefined ? 'a worker' : `a worker of the group ${group}`;
}
