import type { TSchema } from '@sinclair/typebox';
import { isObject } from '../../jsonrpc/envelope.ts';
import { type JsonSchema, madeUpId } from '../schema/plain-schema.ts';
import { mapChildren, refId } from '../schema/schema-tree.ts';
import { ValueIds } from '../schema/value-ids.ts';

/** Where a schema stands, in words that become its name: `user`, `users.list result`. */
type Hint = string;

/** The schemas that a `$ref` can name at one place, by id. */
type Scope = ReadonlyMap<string, NamedSchema>;

interface NamedSchema {
  readonly schema: JsonSchema;
  /** The ids that the schema refers to, and the ids of the schemas within it. */
  readonly leadsTo: ReadonlySet<string>;
  /** Undefined before its first use. */
  component: Component | undefined;
}

interface Component {
  readonly name: string;
  schema: JsonSchema;
}

/** Keywords that may differ from one use of a type to the next: two schemas that differ only in these are one type. */
const annotations = ['default', 'description', 'examples'];

/**
 * Gathers schemas into the components of a document: schemas that have an `$id`, and schemas that are used more
 * than once. Call `add` for all roots first, then {@link shared} for each schema that `add` returned, then `toJson`.
 */
export class SchemaComponents {
  readonly #maxIds: number;
  readonly #identities = new ValueIds();
  /** By the type's number in `#identities`. */
  readonly #components = new Map<number, Component>();
  /** How many components asked for each name. The second gets `name_2`. */
  readonly #names = new Map<string, number>();
  /** Types without an id: how often each is used, and where it was used first. */
  readonly #uses = new Map<number, { count: number; readonly hint: Hint }>();

  /**
   * @param maxIds most named schemas of one procedure. Each is compared with all schemas that it leads to, so
   *   without a limit the document of a stranger could take for ever
   */
  constructor(maxIds: number) {
    this.#maxIds = maxIds;
  }

  /**
   * @param roots schemas that refer to each other by id: the params of one procedure, or its result
   * @returns the roots, their references turned into `#/components/schemas/...`
   */
  add(roots: readonly (readonly [schema: JsonSchema, hint: Hint])[]): JsonSchema[] {
    const ids = new Map<string, JsonSchema>();
    for (const [schema] of roots) collectIds(schema, ids);
    if (ids.size > this.#maxIds) {
      throw new RangeError(
        `a procedure has ${ids.size} named schemas, at most ${this.#maxIds} are read`,
      );
    }
    const scope = scopeOf(ids);
    const added = roots.map(([schema, hint]) => this.#convert(schema, scope, hint));
    for (const [index, [, hint]] of roots.entries()) this.#count(added[index] ?? {}, hint);
    return added;
  }

  /** `schema` (returned by `add`) with each type that is used more than once replaced by a reference. */
  shared(schema: JsonSchema): JsonSchema {
    const identity = this.#identityOf(schema);
    const use = identity === undefined ? undefined : this.#uses.get(identity);
    if (identity === undefined || use === undefined || use.count < 2) {
      return this.#sharedBody(schema);
    }
    let component = this.#components.get(identity);
    if (component === undefined) {
      component = { name: this.#nameFor(schema, use.hint), schema: {} };
      this.#components.set(identity, component);
      component.schema = this.#sharedBody(withoutDefault(schema));
    }
    return this.#referenceTo(component, schema);
  }

  /** The components, sorted by name: the order of use changes more easily than a name. Call it last. */
  toJson(): Record<string, JsonSchema> {
    // `#sharedBody` adds components while the bodies of the first ones are written.
    const withIds = [...this.#components.values()];
    for (const component of withIds) component.schema = this.#sharedBody(component.schema);
    const all = [...this.#components.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    return Object.fromEntries(all.map(({ name, schema }) => [name, schema]));
  }

  #sharedBody(schema: JsonSchema): JsonSchema {
    return mapPlain(schema, (child) => this.shared(child));
  }

  #convert(schema: JsonSchema, scope: Scope, hint: Hint): JsonSchema {
    const { $id, $ref } = schema;
    if (typeof $id === 'string' && typeof $ref !== 'string') {
      return this.#convertReference($id, schema, scope, hint);
    }
    return this.#convertBody(schema, scope, hint);
  }

  #convertBody(schema: JsonSchema, scope: Scope, hint: Hint): JsonSchema {
    // An $id would become the base of the references within the schema. The schemas of $defs are components now.
    const { $id: _id, $defs: _defs, $schema: _dialect, ...rest } = schema;
    if (typeof rest.$ref === 'string') return this.#convertReference(rest.$ref, rest, scope, hint);
    return mapPlain(rest, (child, segment) => this.#convert(child, scope, below(hint, segment)));
  }

  #convertReference($ref: string, use: JsonSchema, scope: Scope, hint: Hint): JsonSchema {
    const id = refId($ref);
    const target = scope.get(id);
    if (target === undefined) return use;
    target.component ??= this.#named(id, target.schema, scope, hint);
    return this.#referenceTo(target.component, use);
  }

  #named(id: string, target: JsonSchema, scope: Scope, hint: Hint): Component {
    // Two types with one id are the same type when they, and all types that they lead to, are equal.
    const identity = this.#identities.of([
      id,
      reachable(id, scope).map(([name, schema]) => [name, this.#identities.of(core(schema))]),
    ]);
    const known = this.#components.get(identity);
    if (known !== undefined) return known;
    const name = madeUpId.test(id) ? this.#nameFor(target, hint) : this.#unique(id);
    const component: Component = { name, schema: {} };
    this.#components.set(identity, component);
    component.schema = this.#convertBody(withoutDefault(target), scope, hint);
    this.#countChildren(component.schema, name);
    return component;
  }

  #count(schema: JsonSchema, hint: Hint): void {
    const identity = this.#identityOf(schema);
    const use = identity === undefined ? undefined : this.#uses.get(identity);
    if (use !== undefined) {
      use.count += 1; // the schema becomes a component; its parts are counted there, once
      return;
    }
    if (identity !== undefined) this.#uses.set(identity, { count: 1, hint });
    this.#countChildren(schema, hint);
  }

  #countChildren(schema: JsonSchema, hint: Hint): void {
    forEachPlain(schema, (child, segment) => this.#count(child, below(hint, segment)));
  }

  /** The number of the schema's type; undefined where the schema is as short as a reference to it would be. */
  #identityOf(schema: JsonSchema): number | undefined {
    return isLarge(schema) ? this.#identities.of(core(schema)) : undefined;
  }

  #referenceTo(component: Component, use: JsonSchema): JsonSchema {
    const $ref = `#/components/schemas/${component.name}`;
    const own = annotations.filter((key) => key in use && !this.#same(use, component.schema, key));
    if (own.length === 0) return { $ref };
    // JSON Schema up to draft 7 ignores every keyword beside a $ref, so the $ref goes into an allOf.
    return { allOf: [{ $ref }], ...Object.fromEntries(own.map((key) => [key, use[key]])) };
  }

  #same(one: JsonSchema, other: JsonSchema, key: string): boolean {
    return (
      one[key] === other[key] || this.#identities.of(one[key]) === this.#identities.of(other[key])
    );
  }

  #nameFor(schema: JsonSchema, hint: Hint): string {
    const { title } = schema;
    const words = (typeof title === 'string' && /[A-Za-z]/.test(title) ? title : hint)
      .split(/[^A-Za-z0-9]+/)
      .filter((word) => word !== '');
    const name = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
    return this.#unique(name);
  }

  #unique(wanted: string): string {
    const name = wanted.replace(/[^A-Za-z0-9._-]+/g, '_') || 'Schema';
    for (;;) {
      const count = (this.#names.get(name) ?? 0) + 1;
      this.#names.set(name, count);
      const own = count === 1 ? name : `${name}_${count}`;
      if (count === 1) return own;
      if (!this.#names.has(own)) {
        this.#names.set(own, 1);
        return own;
      }
    }
  }
}

/** Whether a schema is worth a name: an object, a choice of more than two, or a choice between two such. */
function isLarge(schema: JsonSchema): boolean {
  const { properties, enum: values } = schema;
  if (typeof properties === 'object' && properties !== null) {
    return Object.keys(properties).length > 0;
  }
  if (Array.isArray(values)) return values.length > 2;
  return [schema.anyOf, schema.oneOf, schema.allOf].some(
    (list) =>
      Array.isArray(list) &&
      (list.length > 2 || list.filter((one) => isObject(one) && isLarge(one)).length > 1),
  );
}

function core(schema: JsonSchema): JsonSchema {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => !annotations.includes(key)));
}

function withoutDefault({ default: _default, ...rest }: JsonSchema): JsonSchema {
  return rest;
}

function collectIds(schema: JsonSchema, ids: Map<string, JsonSchema>): void {
  const { $id, $defs, $ref } = schema;
  if (typeof $id === 'string' && typeof $ref !== 'string') ids.set($id, schema);
  if (typeof $defs === 'object' && $defs !== null) {
    for (const [name, one] of Object.entries($defs)) {
      if (isObject(one) && !ids.has(name)) ids.set(name, one);
    }
  }
  forEachPlain(schema, (child) => collectIds(child, ids));
}

function scopeOf(ids: ReadonlyMap<string, JsonSchema>): Scope {
  const scope = new Map<string, NamedSchema>();
  for (const [id, schema] of ids) {
    const leadsTo = new Set<string>();
    const visit = (node: JsonSchema): void => {
      const { $id, $ref } = node;
      if (typeof $ref === 'string') leadsTo.add(refId($ref));
      // A schema with an id is visited on its own, so that no schema is visited once for each level around it.
      if (node !== schema && typeof $id === 'string' && ids.get($id) === node) leadsTo.add($id);
      else forEachPlain(node, visit);
    };
    visit(schema);
    scope.set(id, { schema, leadsTo, component: undefined });
  }
  return scope;
}

/** The schema of an id and all schemas that it leads to, sorted by id. */
function reachable(id: string, scope: Scope): (readonly [id: string, schema: JsonSchema])[] {
  const found = new Set([id]);
  // The loop also visits the ids that it adds.
  for (const one of found) for (const next of scope.get(one)?.leadsTo ?? []) found.add(next);
  return [...found].sort().flatMap((one) => {
    const named = scope.get(one);
    return named === undefined ? [] : [[one, named.schema] as const];
  });
}

function below(hint: Hint, segment: string): Hint {
  if (segment === '') return hint;
  if (segment !== '/*' && !/^\/\d+$/.test(segment)) return segment.slice(1);
  return hint.endsWith(' item') ? hint : `${hint} item`;
}

/** `mapChildren` for schemas that were read from JSON, where a child may be true or false. */
function mapPlain(
  schema: JsonSchema,
  visit: (child: JsonSchema, segment: string) => JsonSchema,
): JsonSchema {
  // `mapChildren` reads only keywords, and a plain JSON Schema has the same keywords.
  return mapChildren(schema as unknown as TSchema, (child, segment) =>
    isObject(child) ? (visit(child, segment) as TSchema) : child,
  );
}

function forEachPlain(
  schema: JsonSchema,
  visit: (child: JsonSchema, segment: string) => void,
): void {
  mapPlain(schema, (child, segment) => {
    visit(child, segment);
    return child;
  });
}
