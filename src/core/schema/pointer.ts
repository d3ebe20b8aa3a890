import { shortened } from '../base/text.ts';

/** A name as a segment of a JSON Pointer (RFC 6901). */
export function escapePointer(name: string): string {
  return /[~/]/.test(name) ? name.replaceAll('~', '~0').replaceAll('/', '~1') : name;
}

/** Longest name in a path that is shown. The caller chooses names. */
const maxSegment = 64;

/** A step of a JSON Pointer for people: `/name`, cut if the name is long. */
export function shownSegment(name: string): string {
  return `/${escapePointer(shortened(name, maxSegment))}`;
}
