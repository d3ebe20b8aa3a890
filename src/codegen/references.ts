import { isObject, type JsonObject, own } from './json.ts';
import { CodegenError, shown } from './text.ts';

/** A schema and its place. */
export interface Located {
  readonly schema: unknown;
  /** For messages, e.g. `methods[2].params[0].schema`. */
  readonly path: string;
  /** The outermost schema around it, in which `#/$defs/...` and ids are looked up too. */
  readonly root: unknown;
}

/** The schema that a `$ref` leads to. */
export interface Target extends Located {
  /** The same for every reference to this schema. */
  readonly key: string;
  /** A name for its type, not unique. */
  readonly name: string;
}

/** Longest chain of references that lead to references. A longer one is a circle. */
const longestChain = 100;

/** Follows references within one document. Nothing outside of the document is read. */
export class References {
  readonly #document: JsonObject;
  readonly #ids = new WeakMap<object, Map<string, unknown>>();
  /** Numbers of root schemas: the same pointer in two root schemas leads to two targets. */
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
   * The value at a place where the specification also allows a reference to it.
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

  /** A schema among the components: any schema may refer to it by its $id. */
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

/** Follows a JSON Pointer in a URI fragment (RFC 6901), through own members only. */
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

/** The last segment of a reference, for a name. `schema`, `items` and numbers say little: then the one before it too. */
function lastSegment($ref: string): string {
  const segments = $ref.startsWith('#/') ? segmentsOf($ref) : $ref.split(/[/#]/);
  const [last = '', before = ''] = segments.reverse();
  return /^(?:schema|items|\d+|)$/.test(last) ? `${before} ${last}` : last;
}
