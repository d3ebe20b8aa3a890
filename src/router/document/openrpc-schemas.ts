import type { TSchema } from '@sinclair/typebox';
import type { JsonSchema } from '../schema/plain-schema.ts';
import { mapChildren } from '../schema/schema-tree.ts';
import { JsonIdentities } from './json-identity.ts';

/** Where a schema stands, in words for a name: `user`, `users.list result`. */
type Hint = string;

/** The schemas that `$ref` can mean at one place, by their ids. */
type Scope = ReadonlyMap<string, NamedSchema>;

interface NamedSchema {
  readonly schema: JsonSchema;
  /** The ids that it refers to, and of the schemas in it that have one. */
  readonly leadsTo: ReadonlySet<string>;
  /** Undefined before its first use. */
  component: Component | undefined;
}

interface Component {
  readonly name: string;
  schema: JsonSchema;
}

/** What is said beside a type and may differ from one use of it to the next. */
const annotations = ['default', 'description', 'examples'];

/** The ids that Type.Recursive makes up, as plainSchema numbers them. */
const madeUpId = /^T\d+$/;

/**
 * Gathers the schemas of a document into its components: those that have an `$id`, and those that are
 * used more than once. All roots are added first, then each is taken with {@link shared}.
 */
export class SchemaComponents {
  readonly #maxIds: number;
  readonly #identities = new JsonIdentities();
  /** By what makes two types one. */
  readonly #components = new Map<number, Component>();
  /** How many components wanted each name: the second becomes name_2. */
  readonly #names = new Map<string, number>();
  /** Types without an id: how often they were met, and what they are called. */
  readonly #uses = new Map<number, { count: number; readonly hint: Hint }>();

  /**
   * @param maxIds named schemas that one procedure may have; each is compared with all it leads to, so
   *   that a document from somebody else could take for ever
   */
  constructor(maxIds: number) {
    this.#maxIds = maxIds;
  }

  /**
   * @param roots the schemas that refer to each other by id: the params of one procedure, its result
   * @returns each with its references turned into `#/components/schemas/...`
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

  /** A schema that `add` returned, with the types that are used more than once replaced by references. */
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

  /** Call it last. Sorted by name: the order of use changes more easily than a name. */
  toJson(): Record<string, JsonSchema> {
    // The bodies of components with ids may hold types that are used more than once, and so on.
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
    // An $id would be the base of the references in it; what $defs holds has become components.
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
    // Types of one id are the same where they and all that they lead to are.
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
      use.count += 1; // what is in it stays where it is: in the component this becomes
      return;
    }
    if (identity !== undefined) this.#uses.set(identity, { count: 1, hint });
    this.#countChildren(schema, hint);
  }

  #countChildren(schema: JsonSchema, hint: Hint): void {
    forEachPlain(schema, (child, segment) => this.#count(child, below(hint, segment)));
  }

  /** What makes two types one; undefined for those that are as short as a reference to them. */
  #identityOf(schema: JsonSchema): number | undefined {
    return isLarge(schema) ? this.#identities.of(core(schema)) : undefined;
  }

  #referenceTo(component: Component, use: JsonSchema): JsonSchema {
    const $ref = `#/components/schemas/${component.name}`;
    const own = annotations.filter((key) => key in use && !this.#same(use, component.schema, key));
    if (own.length === 0) return { $ref };
    // Beside a $ref, JSON Schema up to draft 7 passes over everything.
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

/** Worth a name of its own: an object, or a choice of several or between objects. */
function isLarge(schema: JsonSchema): boolean {
  const { properties, enum: values } = schema;
  if (typeof properties === 'object' && properties !== null) {
    return Object.keys(properties).length > 0;
  }
  if (Array.isArray(values)) return values.length > 2;
  return [schema.anyOf, schema.oneOf, schema.allOf].some(
    (list) =>
      Array.isArray(list) &&
      (list.length > 2 || list.filter((one) => isSchema(one) && isLarge(one)).length > 1),
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
      if (isSchema(one) && !ids.has(name)) ids.set(name, one);
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
      // Looked into by itself, so that nesting costs nothing.
      if (node !== schema && typeof $id === 'string' && ids.get($id) === node) leadsTo.add($id);
      else forEachPlain(node, visit);
    };
    visit(schema);
    scope.set(id, { schema, leadsTo, component: undefined });
  }
  return scope;
}

/** The schema of an id and all that it leads to, sorted by their ids. */
function reachable(id: string, scope: Scope): (readonly [id: string, schema: JsonSchema])[] {
  const found = new Set([id]);
  // Grows while it is read.
  for (const one of found) for (const next of scope.get(one)?.leadsTo ?? []) found.add(next);
  return [...found].sort().flatMap((one) => {
    const named = scope.get(one);
    return named === undefined ? [] : [[one, named.schema] as const];
  });
}

function refId($ref: string): string {
  return $ref.replace(/^#\/(?:\$defs|definitions)\//, '');
}

function below(hint: Hint, segment: string): Hint {
  if (segment === '') return hint;
  if (segment !== '/*' && !/^\/\d+$/.test(segment)) return segment.slice(1);
  return hint.endsWith(' item') ? hint : `${hint} item`;
}

/** `mapChildren` for schemas that came as JSON, where a child may be true or false. */
function mapPlain(
  schema: JsonSchema,
  visit: (child: JsonSchema, segment: string) => JsonSchema,
): JsonSchema {
  // It reads keywords alone, which a plain JSON Schema has as well.
  return mapChildren(schema as unknown as TSchema, (child, segment) =>
    isSchema(child) ? (visit(child, segment) as TSchema) : child,
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

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
