import { doAll, type Steps } from '../../base/timer.ts';
import { isObject } from '../../protocol/body.ts';
import {
  defined,
  forEachPlain,
  madeUpId,
  mapPlain,
  plainNamesIn,
  refId,
} from '../../schema/schema-tree.ts';
import { ValueIds } from '../../schema/value-ids.ts';
import { type JsonSchema, writeJson } from '../../schema/write-json.ts';
import type { Effects } from '../declarations.ts';
import type { Procedure } from '../types.ts';
import { versionSteps } from './document-text.ts';
import {
  type ErrorSchema,
  getProcedureSchema,
  type ProcedureSchema,
  type RegistrySchema,
  type StreamSchema,
} from './introspect.ts';

/** An OpenRPC 1.4 document (https://spec.open-rpc.org): the members that this package writes. */
export interface OpenRpcDocument {
  readonly openrpc: '1.4.1';
  readonly info: { readonly title: string; readonly version: string };
  readonly methods: readonly OpenRpcMethod[];
  readonly components?: { readonly schemas: Readonly<Record<string, JsonSchema>> };
}

export interface OpenRpcMethod {
  readonly name: string;
  readonly description?: string;
  readonly tags?: readonly { readonly name: string }[];
  /** `by-name`: the order of `params` here is not the order of positional arguments, or there is none. */
  readonly paramStructure: 'either' | 'by-name';
  readonly params: readonly ContentDescriptor[];
  readonly result: ContentDescriptor;
  readonly errors?: readonly { readonly code: number; readonly message: string }[];
  /** The declared errors with their names and the schemas of their data, for which an Error Object has no place. */
  readonly 'x-errors'?: Readonly<Record<string, ErrorSchema>>;
  /** What the procedure does to the world, if it says so. */
  readonly 'x-effects'?: Effects;
  /** What a stream is beyond its result, which is what it returns at its end; absent: it is none. */
  readonly 'x-stream'?: OpenRpcStream;
  /** The schema of params other than the named ones; absent: no others are allowed. */
  readonly 'x-additional-params'?: JsonSchema;
}

export interface OpenRpcStream extends StreamSchema {
  readonly yields: JsonSchema;
}

export interface ContentDescriptor {
  readonly name: string;
  readonly description?: string;
  readonly required?: boolean;
  readonly schema: JsonSchema;
}

/** A procedure as in the introspection document, and what only the router knows of it. */
interface Described {
  readonly schema: ProcedureSchema;
  /** The schema of params other than the named ones. */
  readonly rest: JsonSchema | undefined;
  /** Whether the order of the members is that of positional params. */
  readonly hasOrder: boolean;
}

/** The OpenRPC document of a router's procedures (`tableOf`). */
export function openRpcOf(table: ReadonlyMap<string, Procedure>): OpenRpcDocument {
  return doAll(openRpcSteps(table));
}

/** The same in steps. What is registered meanwhile is not in it. */
export function* openRpcSteps(table: ReadonlyMap<string, Procedure>): Steps<OpenRpcDocument> {
  const described: Described[] = [];
  const procedures = [...table.values()];
  for (const procedure of procedures) {
    described.push({
      schema: getProcedureSchema(procedure),
      rest: restOf(procedure),
      hasOrder: procedure.params === undefined || procedure.hasOrder,
    });
    yield;
  }
  return yield* stepsOf(described, Number.POSITIVE_INFINITY);
}

/**
 * The OpenRPC document of an introspection document. It has no `x-additional-params`: an introspection document
 * does not say whether a procedure takes params other than the named ones.
 *
 * @param registry may come from a stranger; its shape and depth must have been checked
 * @throws RangeError for a registry that would take too long
 */
export function openRpcOfRegistry(registry: RegistrySchema): OpenRpcDocument {
  const described = Object.values(registry).map((schema) => ({
    schema,
    rest: undefined,
    hasOrder: true,
  }));
  return doAll(stepsOf(described, 300));
}

function* stepsOf(described: readonly Described[], maxIds: number): Steps<OpenRpcDocument> {
  const components = new SchemaComponents(maxIds);
  // Sorted, since a type is named after its first use: the order of registration must not change its name.
  const byName = [...described].sort((a, b) => (a.schema.name < b.schema.name ? -1 : 1));
  const drafts: OpenRpcMethod[] = [];
  for (const one of byName) {
    drafts.push(draft(one, components));
    yield;
  }
  const shared = new Map<string, OpenRpcMethod>();
  for (const one of drafts) {
    shared.set(one.name, share(one, components));
    yield;
  }
  const methods = described.flatMap(({ schema }) => shared.get(schema.name) ?? []);
  const schemas = yield* components.toJson();
  const content = {
    methods,
    ...(Object.keys(schemas).length === 0 ? {} : { components: { schemas } }),
  };
  return {
    openrpc: '1.4.1',
    info: { title: 'Tandem RPC', version: yield* versionSteps(content) },
    ...content,
  };
}

function draft({ schema, rest, hasOrder }: Described, components: SchemaComponents): OpenRpcMethod {
  const { name, namespace, parameters, return_schema, yield_schema, stream, doc, effects } = schema;
  const named = components.add(
    parameters.map((parameter) => [parameter.schema_, parameter.name] as const),
  );
  const [result = {}] = components.add([[return_schema, `${name} result`]]);
  const [yields = {}] =
    yield_schema === undefined ? [] : components.add([[yield_schema, `${name} value`]]);
  const [additional] = rest === undefined ? [] : components.add([[rest, `${name} params`]]);
  const params = parameters.map((parameter, index) => {
    const param = named[index] ?? {};
    const description = typeof param.description === 'string' ? param.description : undefined;
    const { required } = parameter;
    return defined<ContentDescriptor>({
      name: parameter.name,
      description,
      required,
      schema: param,
    });
  });
  const required = params.filter((param) => param.required);
  const optional = params.filter((param) => !param.required);
  const sorted = [...required, ...optional];
  // The specification wants required params first. If that moves one, the order no longer tells the positions.
  const inOrder = hasOrder && sorted.every((param, index) => param === params[index]);
  const declared = Object.entries(schema.errors ?? {});
  const errors = declared.length === 0 ? undefined : declared;
  return defined<OpenRpcMethod>({
    name,
    description: doc ?? undefined,
    tags: namespace === null ? undefined : [{ name: namespace }],
    paramStructure: inOrder && !(params.length === 0 && rest !== undefined) ? 'either' : 'by-name',
    params: sorted,
    result: { name: 'result', schema: result },
    errors: errors?.map(([, { code, message }]) => ({ code, message })),
    'x-errors':
      errors &&
      Object.fromEntries(
        errors.map(([key, { code, message, data }]) => {
          const [added] = data === undefined ? [] : components.add([[data, `${name} ${key}`]]);
          return [key, defined<ErrorSchema>({ code, message, data: added })];
        }),
      ),
    'x-effects': effects,
    'x-stream': stream && { yields, ...stream },
    'x-additional-params': additional,
  });
}

/** The second pass, after all uses of each type were counted: replaces shared types by references. */
function share(method: OpenRpcMethod, components: SchemaComponents): OpenRpcMethod {
  const { params, result, 'x-errors': errors, 'x-stream': stream } = method;
  const shared = (schema: JsonSchema | undefined) => schema && components.shared(schema);
  const shareError = (error: ErrorSchema) =>
    defined<ErrorSchema>({ ...error, data: shared(error.data) });
  return defined<OpenRpcMethod>({
    ...method,
    params: params.map((param) => ({ ...param, schema: components.shared(param.schema) })),
    result: { ...result, schema: components.shared(result.schema) },
    'x-errors':
      errors &&
      Object.fromEntries(Object.entries(errors).map(([name, error]) => [name, shareError(error)])),
    'x-stream': stream && { ...stream, yields: components.shared(stream.yields) },
    'x-additional-params': shared(method['x-additional-params']),
  });
}

function restOf({ params }: Procedure): JsonSchema | undefined {
  const rest = params === undefined ? true : writeJson(params).additionalProperties;
  if (rest === true) return {};
  return isObject(rest) ? rest : undefined;
}

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
class SchemaComponents {
  readonly #maxIds: number;
  readonly #identities = new ValueIds();
  /** By the type's number in `#identities`. */
  readonly #components = new Map<number, Component>();
  /** How many components asked for each name. The second gets `name_2`. */
  readonly #names = new Map<string, number>();
  /** Types without an id: how often each is used, and where it was used first, in words that become its name. */
  readonly #uses = new Map<number, { count: number; readonly hint: string }>();

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
  add(roots: readonly (readonly [schema: JsonSchema, hint: string])[]): JsonSchema[] {
    const ids = new Map<string, JsonSchema>();
    for (const [schema] of roots) plainNamesIn(schema, ids);
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
    const identity = this.#identityOf(schema) ?? -1;
    const use = this.#uses.get(identity);
    if (use === undefined || use.count < 2) return this.#sharedBody(schema);
    let component = this.#components.get(identity);
    if (component === undefined) {
      component = { name: this.#nameFor(schema, use.hint), schema: {} };
      this.#components.set(identity, component);
      component.schema = this.#sharedBody(withoutDefault(schema));
    }
    return this.#referenceTo(component, schema);
  }

  /** The components, sorted by name: the order of use changes more easily than a name. Call it last. */
  *toJson(): Steps<Record<string, JsonSchema>> {
    // `#sharedBody` adds components while the bodies of the first ones are written.
    const withIds = [...this.#components.values()];
    for (const component of withIds) {
      component.schema = this.#sharedBody(component.schema);
      yield;
    }
    const all = [...this.#components.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    return Object.fromEntries(all.map(({ name, schema }) => [name, schema]));
  }

  #sharedBody(schema: JsonSchema): JsonSchema {
    return mapPlain(schema, (child) => this.shared(child));
  }

  #convert(schema: JsonSchema, scope: Scope, hint: string): JsonSchema {
    const { $id, $ref } = schema;
    if (typeof $id === 'string' && typeof $ref !== 'string') {
      return this.#convertReference($id, schema, scope, hint);
    }
    return this.#convertBody(schema, scope, hint);
  }

  #convertBody(schema: JsonSchema, scope: Scope, hint: string): JsonSchema {
    // An $id would become the base of the references within the schema. The schemas of $defs are components now.
    const { $id: _id, $defs: _defs, $schema: _dialect, ...rest } = schema;
    if (typeof rest.$ref === 'string') return this.#convertReference(rest.$ref, rest, scope, hint);
    return mapPlain(rest, (child, segment) => this.#convert(child, scope, below(hint, segment)));
  }

  #convertReference($ref: string, use: JsonSchema, scope: Scope, hint: string): JsonSchema {
    const id = refId($ref);
    const target = scope.get(id);
    if (target === undefined) return use;
    target.component ??= this.#named(id, target.schema, scope, hint);
    return this.#referenceTo(target.component, use);
  }

  #named(id: string, target: JsonSchema, scope: Scope, hint: string): Component {
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

  #count(schema: JsonSchema, hint: string): void {
    const identity = this.#identityOf(schema);
    const use = identity === undefined ? undefined : this.#uses.get(identity);
    if (use !== undefined) {
      use.count += 1; // the schema becomes a component; its parts are counted there, once
      return;
    }
    if (identity !== undefined) this.#uses.set(identity, { count: 1, hint });
    this.#countChildren(schema, hint);
  }

  #countChildren(schema: JsonSchema, hint: string): void {
    forEachPlain(schema, (child, segment) => this.#count(child, below(hint, segment)));
  }

  /** The number of the schema's type; undefined if the schema is as short as a reference to it would be. */
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

  #nameFor(schema: JsonSchema, hint: string): string {
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
      if (count === 1) return name;
      const own = `${name}_${count}`;
      if (this.#names.has(own)) continue;
      this.#names.set(own, 1);
      return own;
    }
  }
}

/** Whether a schema is worth a name: an object, a choice of more than two, or a choice between two such. */
function isLarge(schema: JsonSchema): boolean {
  const { properties, enum: values } = schema;
  if (isObject(properties)) return Object.keys(properties).length > 0;
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

function below(hint: string, segment: string): string {
  if (segment === '') return hint;
  if (segment !== '/*' && !/^\/\d+$/.test(segment)) return segment.slice(1);
  return hint.endsWith(' item') ? hint : `${hint} item`;
}
