import type { Steps } from '../../core/base/timer.ts';
import { isObject } from '../../core/protocol/body.ts';
import { listOf, mapPlain } from '../../core/schema/schema-tree.ts';
import type { JsonSchema } from '../../core/schema/write-json.ts';

/** Where the schemas of components stand in a document. */
const componentPath = '#/components/schemas/';

/** Where a schema stands. */
interface Place {
  /** The component around it, up to the next object: only what is within arrays and unions of it. */
  readonly component: string | undefined;
  readonly isItem: boolean;
  readonly isVariant: boolean;
}

const elsewhere: Place = { component: undefined, isItem: false, isVariant: false };

/**
 * Spells the schemas of a document so that generators for several languages read them. What can't be spelled for all of
 * them is told wider than it is: the service checks it all the same.
 */
export class Spelling {
  readonly #given: Map<string, JsonSchema>;
  /** Names in the document, by those in OpenRPC. */
  readonly #names = new Map<string, string>();
  /** Names in the document, in lower case. */
  readonly #taken: Set<string>;
  /** Names of the components that were added, by their content. */
  readonly #added = new Map<string, string>();

  /**
   * @param components as in an OpenRPC document, sorted by name
   * @param taken names that the document needs itself
   */
  constructor(components: Readonly<Record<string, JsonSchema>>, taken: readonly string[]) {
    this.#given = new Map(Object.entries(components));
    this.#taken = new Set(taken.map((name) => name.toLowerCase()));
    for (const name of this.#given.keys()) this.#names.set(name, this.#unique(name));
  }

  #unique(wanted: string): string {
    const plain = plainName(wanted);
    let name = plain;
    for (let i = 2; this.#taken.has(name.toLowerCase()); i++) name = `${plain}${i}`;
    this.#taken.add(name.toLowerCase());
    return name;
  }

  /**
   * Makes a schema a component, once for each content.
   *
   * @returns a reference to it
   */
  add(wanted: string, schema: JsonSchema): JsonSchema {
    const content = JSON.stringify(schema);
    let name = this.#added.get(content);
    if (name === undefined) {
      name = this.#unique(wanted);
      this.#added.set(content, name);
      // No component of OpenRPC has a name with a space.
      this.#given.set(` ${name}`, schema);
      this.#names.set(` ${name}`, name);
    }
    return { $ref: `${componentPath} ${name}` };
  }

  /** The components, spelled, in their order; behind them those that were added. Call it last. */
  *components(): Steps<Record<string, JsonSchema>> {
    const entries: [string, JsonSchema][] = [];
    // To spell one may add others, which the loop then reaches.
    for (const [name, schema] of this.#given) {
      entries.push([this.#nameOf(name), this.#at(schema, { ...elsewhere, component: name })]);
      yield;
    }
    return Object.fromEntries(entries);
  }

  /** @param schema that refers to nothing but components */
  of(schema: JsonSchema): JsonSchema {
    return this.#at(schema, elsewhere);
  }

  /** The component that a schema is a reference to. */
  target(schema: JsonSchema): JsonSchema | undefined {
    return typeof schema.$ref === 'string' ? this.#given.get(nameIn(schema.$ref)) : undefined;
  }

  /** A reference as the document has it. */
  reference($ref: string): string {
    return $ref.startsWith(componentPath) ? componentPath + this.#nameOf(nameIn($ref)) : $ref;
  }

  #nameOf(name: string): string {
    return this.#names.get(name) ?? name;
  }

  #at(schema: JsonSchema, place: Place): JsonSchema {
    const { $ref } = schema;
    if (typeof $ref === 'string') {
      // TypeScript's types of an array that holds itself, without an object between, do not compile (TS2502).
      return this.#closesCircle($ref, place) ? {} : { ...schema, $ref: this.reference($ref) };
    }
    let spelled = schema;
    for (const { is, spell } of shapes) if (is(spelled)) spelled = spell(spelled, this);
    const whole = mapPlain(spelled, (child, _segment, keyword) =>
      this.#at(child, placeWithin(place, keyword)),
    );
    return typeof whole.const === 'boolean' && !place.isVariant ? spellBoolean(whole) : whole;
  }

  #closesCircle($ref: string, { component, isItem }: Place): boolean {
    return component !== undefined && isItem && this.#leadsTo(nameIn($ref), component, new Set());
  }

  /** Whether a component is reached from another one through arrays and unions alone. */
  #leadsTo(from: string, to: string, seen: Set<string>): boolean {
    if (from === to) return true;
    if (seen.has(from)) return false;
    seen.add(from);
    let leads = false;
    const visit = (schema: JsonSchema): void => {
      const { $ref } = schema;
      if (typeof $ref === 'string') leads ||= this.#leadsTo(nameIn($ref), to, seen);
      mapPlain(schema, (child, _segment, keyword) => {
        if (!membersOf.has(keyword)) visit(child);
        return child;
      });
    };
    visit(this.#given.get(from) ?? {});
    return leads;
  }
}

/** Keywords whose schemas are about members of an object. */
const membersOf = new Set([
  'properties',
  'patternProperties',
  'additionalProperties',
  'unevaluatedProperties',
]);

function placeWithin({ component, isItem }: Place, keyword: string): Place {
  const isVariant = keyword === 'anyOf' || keyword === 'oneOf';
  if (component === undefined || membersOf.has(keyword)) return { ...elsewhere, isVariant };
  const isWithin = isItem || keyword === 'items' || keyword === 'prefixItems';
  return { component, isItem: isWithin, isVariant };
}

/** Letters and digits: generators take all others out, and two names may then be the same. */
function plainName(name: string): string {
  const [first = '', ...rest] = name.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  const joined = first + rest.map(capitalized).join('');
  return /^[A-Za-z]/.test(joined) ? joined : `Schema${joined}`;
}

function capitalized(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

function nameIn($ref: string): string {
  return $ref.slice(componentPath.length);
}

interface Shape {
  readonly is: (schema: JsonSchema) => boolean;
  /** Parts of the result are spelled afterwards. */
  readonly spell: (schema: JsonSchema, spelling: Spelling) => JsonSchema;
}

/**
 * How each shape is spelled, in this order. A schema may have several of them; each row leaves alone what the rows before it
 * have spelled. What generators do with other spellings stands beside the row.
 */
const shapes: readonly Shape[] = [
  {
    // Several types. ogen (Go) reads no list of types.
    is: ({ type }) => Array.isArray(type),
    spell: spellTypes,
  },
  {
    // Bytes. swagger-typescript-api takes `contentMediaType` for a file.
    is: ({ format, contentEncoding }) => format === 'byte' && contentEncoding === 'base64',
    spell: ({ maxBytes: _bytes, contentMediaType: _type, ...schema }) => schema,
  },
  {
    // Literals. openapi-python-client makes a class of each `enum` in a union, openapi-zod-client reads no `const`.
    is: (schema) => 'const' in schema || Array.isArray(schema.enum),
    spell: (schema) => spellLiterals(schema),
  },
  {
    is: ({ anyOf, oneOf }) => Array.isArray(anyOf) !== Array.isArray(oneOf),
    spell: spellUnion,
  },
  {
    // Of intersections and others: generators know none of these, or what they say needs the parts beside them.
    is: (schema) => 'unevaluatedProperties' in schema || 'unevaluatedItems' in schema,
    spell: ({ unevaluatedProperties: _members, unevaluatedItems: _items, ...schema }) => schema,
  },
  {
    // What it excludes is told wider than it is, so that it would exclude too much.
    is: (schema) => 'not' in schema && !isNever(schema),
    spell: ({ not: _not, ...schema }) => schema,
  },
  {
    is: ({ type, items, prefixItems }) =>
      Array.isArray(prefixItems) || Array.isArray(items) || type === 'array',
    spell: spellArray,
  },
  {
    is: ({ patternProperties }) => isObject(patternProperties),
    spell: spellRecord,
  },
  {
    is: ({ properties }) => isObject(properties),
    spell: spellMembers,
  },
  {
    // Of a record of zod. It says what is known of all names.
    is: ({ propertyNames }) =>
      isObject(propertyNames) && Object.keys(propertyNames).every((key) => key === 'type'),
    spell: ({ propertyNames: _names, ...schema }) => schema,
  },
];

const annotations = new Set(['title', 'description', 'default', 'examples', 'deprecated']);

function annotationsOf(schema: JsonSchema): JsonSchema {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => annotations.has(key)));
}

function without(schema: JsonSchema, ...keys: readonly string[]): JsonSchema {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => !keys.includes(key)));
}

/** Whether no value matches. */
export function isNever(schema: unknown): boolean {
  if (schema === false) return true;
  return isObject(schema) && isObject(schema.not) && Object.keys(schema.not).length === 0;
}

/** No schema of a document is true or false. */
function asObject(schema: unknown): JsonSchema {
  if (schema === false) return { not: {} };
  return isObject(schema) ? schema : {};
}

function spellTypes(schema: JsonSchema): JsonSchema {
  const types = listOf<string>(schema.type);
  // The literals say it all.
  if ('const' in schema || Array.isArray(schema.enum)) return without(schema, 'type');
  if (types.length === 1) return { ...schema, type: types[0] };
  const shown = annotationsOf(schema);
  const rest = without(schema, 'type', ...annotations);
  const anyOf = types.map((type) => (type === 'null' ? { type } : { ...rest, type }));
  return { ...shown, anyOf };
}

function jsonType(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
}

/** The values of a schema of literals. */
function literalsOf(schema: JsonSchema): readonly unknown[] | undefined {
  if ('const' in schema) return [schema.const];
  if (Array.isArray(schema.enum)) return [...new Set<unknown>(schema.enum)];
  return schema.type === 'null' ? [null] : undefined;
}

function spellLiterals(schema: JsonSchema): JsonSchema {
  const values = literalsOf(schema) ?? [];
  const { type } = schema;
  const rest = without(schema, 'const', 'enum', 'type');
  const pieces = literalPieces(values, typeof type === 'string' ? type : undefined);
  const [only, ...more] = pieces;
  if (only === undefined) return schema;
  return more.length === 0 ? { ...only, ...rest } : { ...annotationsOf(rest), anyOf: pieces };
}

/**
 * One enum for literals of one type: hey-api and orval 7 lose the null of an `enum` that has it. A `const` for each literal
 * of several types.
 *
 * @param declared the type as it is declared: `integer` is one, too
 */
function literalPieces(values: readonly unknown[], declared?: string): JsonSchema[] {
  const known = values.filter((value) => value !== null);
  const ofNull = known.length < values.length ? [{ type: 'null' }] : [];
  const types = new Set(known.map(jsonType));
  if (types.size > 1) return [...known.flatMap((value) => literalPieces([value])), ...ofNull];
  const [type = 'null'] = types;
  if (known.length === 0) return ofNull;
  const [first] = known;
  if (type === 'object' || type === 'array') {
    return [known.length === 1 ? { const: first } : { enum: known }, ...ofNull];
  }
  // Go and Java have other types for numbers that may have a fraction.
  const isInteger = declared === 'integer' || known.every(Number.isInteger);
  const shownType = type === 'number' && isInteger ? 'integer' : type;
  // `true` or null is an enum in Java, too, so it is told as any boolean or null.
  if (known.length > 1 || (type === 'boolean' && ofNull.length > 0)) {
    // openapi-python-client leaves out an operation with an enum of such numbers.
    const isWider = type === 'boolean' || shownType === 'number';
    return [isWider ? { type } : { type: shownType, enum: known }, ...ofNull];
  }
  // Both of a number break orval 8's zod output (TS2339); a string needs both for openapi-zod-client.
  const one = { type: shownType, const: first };
  return [type === 'string' ? { ...one, enum: [first] } : one, ...ofNull];
}

/**
 * One boolean. openapi-generator (Java) makes an enum of it that does not compile, and without the type the code of ogen (Go)
 * does not.
 */
function spellBoolean({ const: value, ...schema }: JsonSchema): JsonSchema {
  return { ...schema, type: 'boolean', allOf: [{ const: value }] };
}

function spellUnion(schema: JsonSchema, spelling: Spelling): JsonSchema {
  const shown = without(schema, 'anyOf', 'oneOf', 'discriminator');
  const variants = flattened(listOf<unknown>(schema.anyOf ?? schema.oneOf));
  const values: unknown[] = [];
  const others: JsonSchema[] = [];
  for (const variant of variants) {
    const literals = isObject(variant) ? literalsOf(variant) : undefined;
    if (literals !== undefined) values.push(...literals);
    else others.push(asObject(variant));
  }
  const literals = literalPieces([...new Set(values)], typeOfLiterals(variants));
  const ofNull = literals.filter(({ type }) => type === 'null');
  const tagged = discriminated(others, spelling);
  const pieces = [
    ...literals.filter(({ type }) => type !== 'null'),
    ...(tagged === undefined ? others : [tagged]),
    ...ofNull,
  ];
  const [only, ...more] = pieces;
  if (only === undefined) return { ...shown, not: {} };
  if (more.length > 0) return { ...shown, anyOf: pieces };
  if (Object.keys(shown).length === 0) return only;
  return '$ref' in only ? { ...shown, allOf: [only] } : { ...only, ...shown };
}

/** The variants of a union, those of unions within it too, without those that no value has. */
function flattened(variants: readonly unknown[]): unknown[] {
  return variants.flatMap((variant) => {
    if (isNever(variant)) return [];
    if (!isObject(variant)) return [variant];
    const [key, ...more] = Object.keys(variant);
    const isUnion = more.length === 0 && (key === 'anyOf' || key === 'oneOf');
    return isUnion ? flattened(listOf<unknown>(variant[key])) : [variant];
  });
}

function typeOfLiterals(variants: readonly unknown[]): string | undefined {
  const types = variants.map((one) => (isObject(one) && literalsOf(one) ? one.type : undefined));
  const declared = new Set(types.filter((type) => type !== undefined && type !== 'null'));
  const [type] = declared;
  return declared.size === 1 && typeof type === 'string' ? type : undefined;
}

/**
 * Objects that a member of theirs tells apart, as components, since a mapping needs names. ogen (Go) reads no union of
 * objects without one.
 */
function discriminated(
  variants: readonly JsonSchema[],
  spelling: Spelling,
): JsonSchema | undefined {
  if (variants.length < 2) return undefined;
  const tags = variants.map((variant) => tagsOf(spelling.target(variant) ?? variant));
  const [first = new Map<string, string>()] = tags;
  for (const propertyName of first.keys()) {
    const values = tags.flatMap((one) => one.get(propertyName) ?? []);
    if (new Set(values).size < variants.length) continue;
    const oneOf = variants.map((variant, i) =>
      '$ref' in variant ? variant : spelling.add(capitalized(values[i] ?? ''), variant),
    );
    const targets = oneOf.map(({ $ref }) => spelling.reference(String($ref)));
    const mapping = Object.fromEntries(values.map((value, i) => [value, targets[i] ?? '']));
    return { oneOf, discriminator: { propertyName, mapping } };
  }
  return undefined;
}

/** The members that have one text in each value of an object, with that text. */
function tagsOf(schema: JsonSchema | undefined): Map<string, string> {
  const tags = new Map<string, string>();
  const { properties } = schema ?? {};
  const required = listOf<string>(schema?.required);
  for (const [name, member] of Object.entries(isObject(properties) ? properties : {})) {
    const [value, ...more] = (isObject(member) ? literalsOf(member) : undefined) ?? [];
    if (typeof value === 'string' && more.length === 0 && required.includes(name)) {
      tags.set(name, value);
    }
  }
  return tags;
}

function spellArray(schema: JsonSchema): JsonSchema {
  const { items, prefixItems, additionalItems, maxItems, ...rest } = schema;
  // Before the draft 2020-12, a list of `items` was what `prefixItems` is now.
  const isList = Array.isArray(items);
  const first = isList ? listOf<unknown>(items) : listOf<unknown>(prefixItems);
  const after = isList ? additionalItems : items;
  const most =
    after === false ? Math.min(Number(maxItems ?? first.length), first.length) : maxItems;
  if (first.length === 0) {
    // openapi-python-client refuses a document with an array that has no `items`.
    if (most === 0) return { ...without(rest, 'minItems'), items: {}, maxItems: 0 };
    return { ...rest, items: asObject(after), ...(most === undefined ? {} : { maxItems: most }) };
  }
  // `items: false` beside it crashes orval 7, and a schema there gives code of orval 8 that does not compile (TS2574).
  return {
    ...rest,
    prefixItems: first.map(asObject),
    ...(most === undefined ? {} : { maxItems: most }),
  };
}

/** Patterns that every name matches, and one that none does, in the forms that generators of schemas write. */
const everyName = new Set(['', '^', '.*', '^.*$', '^(.*)$']);
const noName = '^(?!.*)$';

function spellRecord({ patternProperties, ...schema }: JsonSchema): JsonSchema {
  const patterns = Object.entries(isObject(patternProperties) ? patternProperties : {});
  const [[pattern, member] = ['', {}], ...more] = patterns;
  const hasMembers = isObject(schema.properties) && Object.keys(schema.properties).length > 0;
  if (more.length > 0 || hasMembers) return { ...schema, additionalProperties: true };
  if (pattern === noName || isNever(member)) return { ...schema, additionalProperties: false };
  const additionalProperties = asObject(member);
  if (everyName.has(pattern)) return { ...schema, additionalProperties };
  return { ...schema, additionalProperties, propertyNames: { pattern } };
}

function spellMembers(schema: JsonSchema): JsonSchema {
  const { properties, required, additionalProperties, ...rest } = schema;
  const given = Object.entries(isObject(properties) ? properties : {});
  // Validators take a member called $ref for a reference. `false` as a member crashes orval 7.
  const members = given.filter(([name, member]) => name !== '$ref' && !isNever(member));
  const names = new Set(members.map(([name]) => name));
  const stillRequired = listOf<string>(required).filter((name) => names.has(name));
  // A typed rest beside members does not compile in orval 7 (TS2411), and can't be built in openapi-typescript.
  const others =
    names.size > 0 && isObject(additionalProperties) && !isNever(additionalProperties)
      ? true
      : isNever(additionalProperties)
        ? false
        : additionalProperties;
  // A record of other libraries.
  const isRecord = names.size === 0 && (others === true || isObject(others));
  return {
    ...rest,
    ...(isRecord
      ? {}
      : { properties: Object.fromEntries(members.map(([name, one]) => [name, asObject(one)])) }),
    ...(stillRequired.length === 0 ? {} : { required: stillRequired }),
    ...(others === undefined ? {} : { additionalProperties: others }),
  };
}
