import { isMoreThanNumber, itemsOf, membersOf } from '../json/raw.ts';
import { asObject, kindOf, type Placed, resolve } from './resolve.ts';

/** Text that is not JSON yet, or that JavaScript would round, in the place of a value. */
export class Unparsed {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** A value as the form holds it: `undefined` is left out, and text that is no value yet is `Unparsed`. */
export type Draft = unknown;

/** Members below this are empty at first: a schema may hold itself. */
const deepestDraft = 8;

/** What a field begins with: what the schema leaves no choice in, and empty members where they are required. */
export function emptyDraft(placed: Placed, depth = 0): Draft {
  if (depth > deepestDraft) return undefined;
  const { schema, root } = resolve(placed);
  const kind = kindOf(schema);
  switch (kind.kind) {
    case 'choice':
      return kind.values.length === 1 ? kind.values[0] : undefined;
    case 'variants':
      return undefined;
    case 'object': {
      const members = kind.members
        .filter(([name]) => kind.required.has(name))
        .map(([name, member]) => [name, emptyDraft({ schema: member, root }, depth + 1)] as const);
      return Object.fromEntries(members);
    }
    case 'list':
      return [];
    case 'tuple':
      return kind.items.map((item) => emptyDraft({ schema: item, root }, depth + 1));
    case 'switch':
      return false;
    case 'null':
      return null;
    default:
      return undefined;
  }
}

/** The JSON text of a draft, with what is left out left out; a field whose text is no JSON throws. */
export function textOfDraft(draft: Draft): string {
  return written(draft) ?? '';
}

/** @throws SyntaxError for text that is no JSON */
function written(draft: Draft): string | undefined {
  if (draft instanceof Unparsed) {
    JSON.parse(draft.text);
    return draft.text.trim();
  }
  if (Array.isArray(draft)) return `[${draft.map((one) => written(one) ?? 'null').join(',')}]`;
  if (typeof draft !== 'object' || draft === null) return JSON.stringify(draft);
  const members = Object.entries(draft).flatMap(([name, one]) => {
    const text = written(one);
    return text === undefined ? [] : [`${JSON.stringify(name)}:${text}`];
  });
  return `{${members.join(',')}}`;
}

/**
 * What a form holds of a JSON text: numbers that JavaScript would round stay as they were written.
 *
 * @param text known to be JSON
 */
export function draftOfText(text: string): Draft {
  const items = itemsOf(text);
  if (items !== undefined) return items.map(draftOfText);
  const members = membersOf(text);
  if (members === undefined) return isMoreThanNumber(text) ? new Unparsed(text) : JSON.parse(text);
  return Object.fromEntries(Array.from(members, ([name, one]) => [name, draftOfText(one)]));
}

/** The paths of text that is no JSON, each with what is wrong. */
export function unparsedIn(draft: Draft, path = ''): (readonly [string, string])[] {
  if (draft instanceof Unparsed) {
    try {
      JSON.parse(draft.text);
      return [];
    } catch (error) {
      return [[path, error instanceof Error ? error.message : 'must be JSON']];
    }
  }
  if (typeof draft !== 'object' || draft === null) return [];
  return Object.entries(draft).flatMap(([name, one]) =>
    unparsedIn(one, `${path}/${toPointerPart(name)}`),
  );
}

/** A name as a part of a JSON Pointer. */
export function toPointerPart(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** A value as the form can show it: of an object that has other members than the schema, the form would lose them. */
export function fitsForm(placed: Placed, value: unknown): boolean {
  const { schema, root } = resolve(placed);
  const kind = kindOf(schema);
  if (kind.kind !== 'object' || value === undefined) return true;
  if (value instanceof Unparsed) return false;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const known = asObject(schema.properties);
  return Object.entries(value).every(
    ([name, member]) =>
      Object.hasOwn(known, name) && fitsForm({ schema: asObject(known[name]), root }, member),
  );
}
