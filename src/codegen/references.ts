import { isObject, type JsonObject, own } from './json.ts';
import { CodegenError, shown } from './text.ts';

/** A schema and where it stands. */
export interface Located {
  readonly schema: unknown;
  /** For messages, e.g. `methods[2].params[0].schema`. */
  readonly path: string;
  /** The outermost schema around it, in which `#/$defs/...` and ids are looked up too. */
  readonly root: unknown;
}

/** What a `$ref` leads to. */
export interface Target extends Located {
  /** The same for every reference to it. */
  readonly key: string;
  /** What to call it. */
  readonly name: string;
}

/** A chain of references from one to the next has no good reason to be longer. */
const longestChain = 100;

/** Follows references within one document; nothing outside of it is ever read. */
export class References {
  readonly #document: JsonObject;
  readonly #ids = new WeakMap<object, Map<string, unknown>>();
  /** Numbers the schemas that are roots of references, so that equal pointers in two of them differ. */
  readonly #roots = new Map<unknown, number>();

  constructor(document: JsonObject) {
    this.#document = document;
  }

  /** @throws CodegenError for a reference that leads out of the document, or nowhere */
  resolve($ref: string, { root, path }: Located): Target {
    const own = this.#inSchema($ref, root);
    if ($ref.startsWith('#/')) {
      const found = follow(this.#document, $ref);
      if (found !== undefined) {
        return { key: $ref, schema: found, root: found, name: lastSegment($ref), path: $ref };
      }
    }
    const found = own ?? this.#byId($ref);
    if (found !== undefined) {
      const inner = own === undefined ? found : root;
      const key = `${this.#numberOf(inner)} ${$ref}`;
      return {
        key,
        schema: found,
        root: inner,
        name: nameOf($ref, found),
        path: `${path} ${$ref}`,
      };
    }
    throw new CodegenError(
      $ref.startsWith('#')
        ? `the $ref ${shown($ref)} at ${path} leads nowhere in the document`
        : `the $ref ${shown($ref)} at ${path} leads out of the document: only references within it (#/...) are followed`,
    );
  }

  /**
   * What stands in a place where the specification allows a reference in its stead.
   *
   * @throws CodegenError
   */
  follow(value: unknown, path: string): { readonly value: unknown; readonly name?: string } {
    let current = value;
    let name: string | undefined;
    for (let steps = 0; steps < longestChain; steps += 1) {
      const $ref = isObject(current) ? own(current, '$ref') : undefined;
      if (typeof $ref !== 'string')
        return name === undefined ? { value: current } : { value: current, name };
      const target = this.resolve($ref, { schema: current, path, root: undefined });
      current = target.schema;
      name = target.name;
    }
    throw new CodegenError(`the $ref at ${path} leads to itself`);
  }

  #inSchema($ref: string, root: unknown): unknown {
    if (!isObject(root)) return undefined;
    if ($ref === '#') return root;
    if ($ref.startsWith('#/')) return follow(root, $ref);
    const ids = this.#idsOf(root);
    return ids.get($ref) ?? ids.get($ref.replace(/^#/, ''));
  }

  /** Schemas among the components may be named by their $id from anywhere. */
  #byId($ref: string): unknown {
    const components = own(this.#document, 'components');
    const schemas = isObject(components) ? own(components, 'schemas') : undefined;
    return isObject(schemas) ? this.#idsOf(schemas).get($ref) : undefined;
  }

  #idsOf(root: JsonObject): Map<string, unknown> {
    let ids = this.#ids.get(root);
    if (ids === undefined) {
      ids = new Map();
      collectIds(root, ids);
      this.#ids.set(root, ids);
    }
    return ids;
  }

  #numberOf(root: unknown): number {
    let number = this.#roots.get(root);
    if (number === undefined) {
      number = this.#roots.size;
      this.#roots.set(root, number);
    }
    return number;
  }
}

function collectIds(value: unknown, ids: Map<string, unknown>): void {
  if (typeof value !== 'object' || value === null) return;
  if (isObject(value)) {
    for (const key of ['$id', '$anchor']) {
      const id = own(value, key);
      if (typeof id === 'string' && !ids.has(id)) ids.set(id, value);
    }
  }
  for (const child of Object.values(value)) collectIds(child, ids);
}

/** RFC 6901, in a URI fragment. Own members only. */
function follow(root: unknown, $ref: string): unknown {
  let value = root;
  for (const segment of segmentsOf($ref)) {
    if (typeof value !== 'object' || value === null) return undefined;
    if (Array.isArray(value) ? !/^\d+$/.test(segment) : !Object.hasOwn(value, segment)) {
      return undefined;
    }
    value = (value as JsonObject)[segment];
  }
  return value;
}

function segmentsOf($ref: string): string[] {
  return $ref
    .slice(2)
    .split('/')
    .map((segment) => decode(segment).replaceAll('~1', '/').replaceAll('~0', '~'));
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function nameOf($ref: string, schema: unknown): string {
  if ($ref !== '#') return lastSegment($ref);
  const title = isObject(schema) ? own(schema, 'title') : undefined;
  return typeof title === 'string' ? title : 'Schema';
}

/** A word out of the middle of a pointer (`schema`, `items`, `0`) says little: the one before it too. */
function lastSegment($ref: string): string {
  const segments = $ref.startsWith('#/') ? segmentsOf($ref) : $ref.split(/[/#]/);
  const [last = '', before = ''] = segments.reverse();
  return /^(?:schema|items|\d+|)$/.test(last) ? `${before} ${last}` : last;
}
