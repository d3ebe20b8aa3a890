import type { Place } from './place.ts';
import { workerPlace } from './place.ts';

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

/** `a worker`, of a group where it has one: for messages. */
export function aWorkerOf(group: string | undefined): string {
  return group === undefined ? 'a worker' : `a worker of the group ${group}`;
}
