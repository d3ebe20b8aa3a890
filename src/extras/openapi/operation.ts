import { StartupError } from '../../core/base/startup-error.ts';
import { isErrorStatus } from '../../core/procedures/declarations.ts';
import { matcherOf } from '../../core/procedures/names.ts';
import type { Procedure } from '../../core/procedures/types.ts';
import { isObject } from '../../core/protocol/body.ts';
import { listOf, plainNamesIn, refId } from '../../core/schema/schema-tree.ts';
import type { JsonSchema } from '../../core/schema/write-json.ts';
import { writeJson } from '../../core/schema/write-json.ts';

/** What the HTTP facade knows of one procedure. Its URL is the option `httpPath`, a slash and the procedure's name. */
export interface Operation {
  readonly procedure: Procedure;
  /** The JSON-RPC request of a call, up to its params. */
  readonly head: string;
  /** It takes GET and HEAD beside POST: it changes nothing. */
  readonly isRead: boolean;
  /** The methods, as the header `allow` has them. */
  readonly allow: string;
  /** The named params, in their order. */
  readonly params: ReadonlyMap<string, ParamKinds>;
  /** What params of other names may be; undefined: there are none. */
  readonly others: ParamKinds | undefined;
  /** The param that a POST may have as its body; undefined: there is none, or there are several. */
  readonly bytesParam: BytesParam | undefined;
  /** What it returns. Of a stream: at its end. */
  readonly result: ResultForm;
  readonly stream: { readonly collect: boolean; readonly hasResult: boolean } | undefined;
  /** The declared errors, by code. */
  readonly errors: ReadonlyMap<number, DeclaredStatus>;
  /** The header `cache-control` of a GET or HEAD that succeeds; undefined: nothing is kept. */
  readonly cacheControl: string | undefined;
  /**
   * How the document shows the params: in the query of a GET; as the JSON body of a POST; as the bytes of a POST, and the
   * other ones in its query. The server takes all of them that the members above allow.
   */
  readonly form: 'query' | 'json' | 'bytes';
}

export interface BytesParam {
  readonly name: string;
  /** As declared, `image/*` say; undefined: of any type. */
  readonly mediaType: string | undefined;
}

export type ResultForm =
  | { readonly kind: 'nothing' | 'json' }
  | { readonly kind: 'bytes'; readonly mediaType: string | undefined };

export interface DeclaredStatus {
  readonly name: string;
  readonly status: number;
}

/** The status of an error that a procedure throws without having declared one for it. */
export function statusOfCode(code: number): number {
  return isErrorStatus(code) ? code : 422;
}

/** The procedures that have URLs, in one state of the service. */
export class Operations {
  readonly #procedures = new Map<string, Procedure>();
  readonly #made = new Map<string, Operation>();
  readonly #asksWho: boolean;
  /** The patterns that name no procedure. */
  readonly unmatched: readonly string[];
  /** Names that no URL can carry, of procedures that would have one otherwise. */
  readonly withoutUrl: readonly string[];

  /**
   * @param patterns of the procedures that are offered; empty: all
   * @param asksWho whether the service knows who calls
   */
  constructor(
    table: ReadonlyMap<string, Procedure>,
    patterns: readonly string[],
    asksWho: boolean,
  ) {
    this.#asksWho = asksWho;
    const matchers = patterns.map((pattern) => ({ pattern, matches: matcherOf(pattern) }));
    const unmatched = new Set(patterns);
    const withoutUrl: string[] = [];
    for (const [name, procedure] of table) {
      const named = matchers.filter(({ matches }) => matches(name));
      for (const { pattern } of named) unmatched.delete(pattern);
      if (procedure.httpApi === false || (patterns.length > 0 && named.length === 0)) continue;
      if (hasUrl(name)) this.#procedures.set(name, procedure);
      else withoutUrl.push(name);
    }
    this.unmatched = [...unmatched];
    this.withoutUrl = withoutUrl;
  }

  /** By name, in the order of registration. */
  get procedures(): ReadonlyMap<string, Procedure> {
    return this.#procedures;
  }

  /** Made when it is asked for first. */
  find(name: string): Operation | undefined {
    let operation = this.#made.get(name);
    const procedure = operation === undefined ? this.#procedures.get(name) : undefined;
    if (procedure !== undefined) {
      operation = createOperation(procedure, this.#asksWho);
      this.#made.set(name, operation);
    }
    return operation;
  }

  /**
   * Refuses what would show one caller's answer to another. Asked at the start: a reload that brings such a procedure has it
   * answer `private`.
   *
   * @throws StartupError
   */
  assertCaches(): void {
    if (!this.#asksWho) return;
    for (const procedure of this.#procedures.values()) {
      if (procedure.cache?.scope !== 'public' || !isGuarded(procedure)) continue;
      throw new StartupError(
        `procedure ${procedure.name} has cache.scope 'public' beside authorize or use, and authenticate says who calls: shared caches would show its answers to others; declare 'private'`,
      );
    }
  }
}

/** Clients take segments of dots and empty ones out of a URL, or servers do. */
function hasUrl(name: string): boolean {
  return name.split('/').every((segment) => !['', '.', '..'].includes(segment));
}

/** Whether something decides by who calls. */
function isGuarded({ links }: Procedure): boolean {
  return links.length > 0;
}

function createOperation(procedure: Procedure, asksWho: boolean): Operation {
  const { params, returns, stream, effects, errors } = procedure;
  const isRead = effects?.readOnly === true;
  const schema = params === undefined ? {} : writeJson(params);
  const reader = new KindReader(schema);
  const { properties, additionalProperties } = schema;
  const members = Object.entries(isObject(properties) ? properties : {}) as [string, JsonSchema][];
  const bytes = members.flatMap(([name, member]) => {
    const at = reader.target(member);
    return isBytes(at) ? [{ name, mediaType: mediaTypeOf(at) }] : [];
  });
  const kinds = new Map(members.map(([name, member]) => [name, reader.of(member)]));
  // A procedure that declares nothing takes any object.
  const rest = params === undefined ? true : (additionalProperties ?? false);
  const others = rest === false ? undefined : reader.of(isObject(rest) ? rest : {});
  const inQuery = [...kinds].filter(([name]) => bytes.every((one) => one.name !== name));
  const isFlat = others === undefined && inQuery.every(([, one]) => one.isFlat);
  const bytesParam = bytes.length === 1 ? bytes[0] : undefined;
  const result = resultForm(returns === undefined ? {} : writeJson(returns));
  return {
    procedure,
    head: `{"jsonrpc":"2.0","id":1,"method":"${procedure.name}","params":`,
    isRead,
    allow: isRead ? 'GET, HEAD, POST, OPTIONS' : 'POST, OPTIONS',
    params: kinds,
    others,
    bytesParam,
    result,
    stream: stream && {
      collect: stream.collect,
      hasResult: returns !== undefined && result.kind !== 'nothing',
    },
    errors: new Map(
      Object.entries(errors?.declared ?? {}).map(([name, { code, status }]) => [
        code,
        { name, status: status ?? statusOfCode(code) },
      ]),
    ),
    cacheControl: cacheControl(procedure, asksWho),
    form:
      !isFlat || bytes.length > 1
        ? 'json'
        : bytesParam !== undefined
          ? 'bytes'
          : isRead
            ? 'query'
            : 'json',
  };
}

function resultForm(schema: JsonSchema): ResultForm {
  const at = new KindReader(schema).target(schema);
  if (at.type === 'null' || at.const === null) return { kind: 'nothing' };
  return isBytes(at) ? { kind: 'bytes', mediaType: mediaTypeOf(at) } : { kind: 'json' };
}

function cacheControl(procedure: Procedure, asksWho: boolean): string | undefined {
  const { cache } = procedure;
  if (cache === undefined) return undefined;
  const scope = asksWho && isGuarded(procedure) ? 'private' : cache.scope;
  const stale = cache.staleSeconds > 0 ? `, stale-while-revalidate=${cache.staleSeconds}` : '';
  return `${scope}, max-age=${cache.maxAgeSeconds}${stale}`;
}

/** Whether a schema is that of bytes: the plain form of `Type.Base64()`. */
export function isBytes({ format, contentEncoding }: JsonSchema): boolean {
  return format === 'byte' && contentEncoding === 'base64';
}

function mediaTypeOf({ contentMediaType }: JsonSchema): string | undefined {
  return typeof contentMediaType === 'string' ? contentMediaType : undefined;
}

export type JsonKind = 'string' | 'number' | 'boolean' | 'null' | 'object' | 'array';

const everyKind: ReadonlySet<JsonKind> = new Set<JsonKind>([
  'string',
  'number',
  'boolean',
  'null',
  'object',
  'array',
]);

class KindReader {
  readonly #named: ReadonlyMap<string, JsonSchema>;
  /** An entry is made before its kinds are complete: types may hold themselves. */
  readonly #known = new Map<JsonSchema, Kinds>();

  constructor(root: JsonSchema) {
    this.#named = plainNamesIn(root);
  }

  of(schema: JsonSchema): Kinds {
    let known = this.#known.get(schema);
    if (known === undefined) {
      known = new Kinds(this);
      this.#known.set(schema, known);
      this.#read(schema, known);
    }
    return known;
  }

  /** What a chain of references leads to. */
  target(schema: JsonSchema): JsonSchema {
    const seen = new Set<JsonSchema>();
    let at = schema;
    while (typeof at.$ref === 'string' && !seen.has(at)) {
      seen.add(at);
      at = this.#named.get(refId(at.$ref)) ?? {};
    }
    return at;
  }

  #read(schema: JsonSchema, to: Kinds): void {
    const { $ref, anyOf, oneOf, allOf, not, items, prefixItems } = schema;
    let kinds = ownKinds(schema);
    const narrow = (parts: readonly Kinds[]): void => {
      kinds = new Set([...kinds].filter((kind) => parts.some((one) => one.kinds.has(kind))));
      for (const part of parts) to.itemSchemas.push(...part.itemSchemas);
    };
    if (typeof $ref === 'string') narrow([this.of(this.#named.get(refId($ref)) ?? {})]);
    for (const list of [anyOf, oneOf]) {
      if (Array.isArray(list)) narrow(list.map((one: unknown) => this.#part(one)));
    }
    for (const part of listOf<unknown>(allOf)) narrow([this.#part(part)]);
    if (isObject(not) && Object.keys(not).length === 0) kinds = new Set();
    for (const list of [items, prefixItems]) {
      const all: readonly unknown[] = Array.isArray(list) ? list : [list];
      to.itemSchemas.push(...all.filter(isObject));
    }
    to.kinds = kinds;
  }

  /** Schemas of other libraries may be true or false. */
  #part(schema: unknown): Kinds {
    return this.of(isObject(schema) ? schema : schema === false ? { not: {} } : {});
  }
}

/** The kinds that the keywords of the schema itself leave. */
function ownKinds(schema: JsonSchema): ReadonlySet<JsonKind> {
  if ('const' in schema) return new Set([kindOf(schema.const)]);
  if (Array.isArray(schema.enum)) return new Set(schema.enum.map(kindOf));
  const types = (Array.isArray(schema.type) ? schema.type : [schema.type]).map((type: unknown) =>
    type === 'integer' ? 'number' : type,
  );
  const named = [...everyKind].filter((kind) => types.includes(kind));
  return named.length === 0 ? everyKind : new Set(named);
}

function kindOf(value: unknown): JsonKind {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  const type = typeof value;
  return type === 'string' || type === 'number' || type === 'boolean' ? type : 'object';
}

/** Which kinds of values a param's schema allows, by which the texts of a query are read. */
export type ParamKinds = Pick<Kinds, 'kinds' | 'items' | 'isFlat'>;

class Kinds {
  kinds: ReadonlySet<JsonKind> = new Set();
  readonly itemSchemas: JsonSchema[] = [];
  readonly #reader: KindReader;
  #items: ParamKinds | undefined;

  constructor(reader: KindReader) {
    this.#reader = reader;
  }

  /** Of a type that is an array of itself the items are the type. */
  get items(): ParamKinds | undefined {
    if (!this.kinds.has('array')) return undefined;
    const schemas = this.itemSchemas;
    const [first = {}] = schemas;
    this.#items ??= this.#reader.of(schemas.length < 2 ? first : { anyOf: [...schemas] });
    return this.#items;
  }

  get isFlat(): boolean {
    if (this.kinds.has('object')) return false;
    if (!this.kinds.has('array')) return true;
    const { items } = this;
    return (
      this.kinds.size === 1 && items !== undefined && !items.kinds.has('array') && items.isFlat
    );
  }
}
