import { cached } from '../base/cached.ts';
import { isObject } from '../base/value-kinds.ts';

/** The outermost schema around a place: references and ids are looked up in it. */
export interface Root {
  readonly json: unknown;
  /** For messages. */
  readonly where: string;
}

/** What a reference leads to. */
export interface Target {
  readonly json: unknown;
  readonly root: Root;
}

/** Keywords whose values are data: what looks like a schema in them is none. */
const ofData = new Set(['const', 'enum', 'default', 'examples']);

/** Keywords that hold a schema for each name. */
const ofMembers = new Set(['properties', 'patternProperties', '$defs', 'definitions']);

/** Follows the references of JSON Schemas: pointers, ids, anchors and names. */
export class References {
  readonly #document: unknown;
  readonly #ids = new Map<unknown, ReadonlyMap<string, unknown>>();

  /** @param document what references lead into, if they lead out of their schema */
  constructor(document: unknown) {
    this.#document = document;
  }

  /** @returns undefined if there is no such schema */
  targetOf($ref: string, root: Root): Target | undefined {
    if ($ref === '#') return { json: root.json, root };
    const { where } = root;
    const document = this.#document;
    if ($ref.startsWith('#/')) {
      const json = document === undefined ? undefined : followPointer(document, $ref);
      if (json !== undefined) return { json, root: { json, where } };
      const own = followPointer(root.json, $ref);
      if (own !== undefined) return { json: own, root };
    }
    const components = isObject(document) ? document.components : undefined;
    const schemas = isObject(components) ? components.schemas : undefined;
    for (const holder of [root.json, schemas]) {
      const ids = cached(this.#ids, holder, () => idsIn(holder));
      const json = ids.get($ref) ?? ids.get($ref.replace(/^#/, ''));
      if (json !== undefined) return { json, root: holder === root.json ? root : { json, where } };
    }
    return undefined;
  }
}

/** The schemas with a name in `root`: those with an `$id` or an anchor, and those in `$defs`. The first of a name counts. */
function idsIn(root: unknown): ReadonlyMap<string, unknown> {
  const ids = new Map<string, unknown>();
  const add = (name: unknown, schema: unknown): void => {
    if (typeof name === 'string' && !ids.has(name)) ids.set(name, schema);
  };
  // Without recursion: data in it may be nested deeply. What has been added meanwhile is visited too.
  const open = new Set([root]);
  for (const value of open) {
    if (isObject(value)) {
      const { $id, $anchor, $ref, $defs, definitions } = value;
      // Beside a reference an `$id` names what the reference leads to.
      if (typeof $ref !== 'string') add($id, value);
      add($anchor, value);
      for (const named of [$defs, definitions])
        for (const [name, one] of Object.entries(isObject(named) ? named : {})) add(name, one);
    }
    if (typeof value !== 'object' || value === null) continue;
    for (const [name, one] of Object.entries(value)) {
      if (typeof one !== 'object' || one === null || ofData.has(name)) continue;
      // Members may be called as keywords are.
      if (ofMembers.has(name)) for (const member of Object.values(one)) open.add(member);
      else open.add(one);
    }
  }
  return ids;
}

/** The name that the author of a schema gave to what a reference leads to. */
export function givenName($ref: string): string | undefined {
  if (!$ref.startsWith('#/')) return $ref === '#' ? undefined : $ref.replace(/^#/, '');
  const [holder, name] = segmentsOf($ref).slice(-2);
  return ['$defs', 'definitions', 'schemas'].includes(holder ?? '') ? name : undefined;
}

/** A name for what another reference leads to. `schema`, `items` and numbers say little: then the one before it too. */
export function placeName($ref: string): string | undefined {
  const [last, before] = segmentsOf($ref).reverse();
  return last !== undefined && /^(?:schema|items|\d*)$/.test(last) ? `${before} ${last}` : last;
}

/** Follows a JSON Pointer in a URI fragment (RFC 6901), through own members only. */
function followPointer(root: unknown, $ref: string): unknown {
  let value = root;
  for (const segment of segmentsOf($ref)) {
    if (typeof value !== 'object' || value === null) return undefined;
    if (Array.isArray(value) ? !/^\d+$/.test(segment) : !Object.hasOwn(value, segment))
      return undefined;
    value = (value as Readonly<Record<string, unknown>>)[segment];
  }
  return value;
}

function segmentsOf($ref: string): string[] {
  return $ref
    .split('/')
    .slice(1)
    .map((segment) => decoded(segment).replaceAll('~1', '/').replaceAll('~0', '~'));
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    // A name with a percent sign, which its author did not encode.
    return segment;
  }
}
