import { asObject, kindOf, type Placed, resolve } from './resolve.ts';

/** Text that is not JSON yet, in the place of a value. */
export class Unparsed {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** A value as the form holds it: `undefined` is left out, and text that is no value yet is `Unparsed`. */
export type Draft = unknown;

/** What a field begins with: what the schema leaves no choice in, and empty members where they are required. */
export function emptyDraft(placed: Placed, depth = 0): Draft {
  const { schema, root } = resolve(placed);
  const kind = kindOf(schema);
  switch (kind.kind) {
    case 'choice':
      return kind.values.length === 1 ? kind.values[0] : undefined;
    case 'variants':
      return undefined;
    case 'object': {
      if (depth > 8) return undefined;
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

/** The text of a draft, with what is left out left out; a field whose text is no JSON throws. */
export function textOfDraft(draft: Draft, indent?: number): string {
  const given = parsed(draft);
  return given === undefined ? '' : JSON.stringify(given, undefined, indent);
}

/** @throws SyntaxError for text that is no JSON */
function parsed(draft: Draft): unknown {
  if (draft instanceof Unparsed) return JSON.parse(draft.text);
  if (Array.isArray(draft)) return draft.map((one) => parsed(one) ?? null);
  if (typeof draft !== 'object' || draft === null) return draft;
  const members = Object.entries(draft).map(([name, one]) => [name, parsed(one)] as const);
  return Object.fromEntries(members.filter(([, value]) => value !== undefined));
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
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const known = asObject(schema.properties);
  return Object.entries(value).every(
    ([name, member]) =>
      Object.hasOwn(known, name) && fitsForm({ schema: asObject(known[name]), root }, member),
  );
}
