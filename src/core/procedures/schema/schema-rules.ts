import { isDeepStrictEqual } from 'node:util';
import {
  FormatRegistry,
  OptionalKind,
  ReadonlyKind,
  TransformKind,
  type TSchema,
  TypeRegistry,
} from '@sinclair/typebox';
import { suggest } from '../../base/suggest.ts';
import { knownFormats, registerFormats } from '../../schema/formats.ts';
import { RegistrationError } from '../registration.ts';
import { keywords, kindNamed } from './keywords.ts';
import { patternFault } from './patterns.ts';
import { forEachChild, kindOf, listOf } from './schema-tree.ts';
import { bytesKind, registerBytes } from './type.ts';

/** Kinds that TypeBox can check and JSON cannot carry, with what to write instead. */
const foreignKinds = new Map([
  ['Date', "Type.String({ format: 'date-time' })"],
  ['BigInt', "Type.String({ pattern: '^-?[0-9]+$' })"],
  ['Uint8Array', 'Type.Base64()'],
  ['RegExp', 'Type.String({ pattern })'],
  ...['AsyncIterator', 'Constructor', 'Function', 'Iterator', 'Promise', 'Symbol', 'Argument'].map(
    (kind) => [kind, 'a type that JSON has'] as const,
  ),
]);

/**
 * Names that `{}` inherits: a schema that requires `toString` would accept `{}`, and a schema in which `constructor` is
 * optional would refuse it.
 */
const inheritedNames = new Set(Object.getOwnPropertyNames(Object.prototype));

/** The key patterns that Type.Record makes itself. */
const plainKeyPatterns = new Set(['^(.*)$', '^(0|[1-9][0-9]*)$', '^(?!.*)$']);

const maxSchemaDepth = 64;

/** Most parts of a schema that is written out, as its document and its type's text are. A part in two places counts twice. */
const maxParts = 10_000;

/**
 * Refuses at registration a schema that would fail at a call.
 *
 * @param validator what checks values at a call. Other libraries run a pattern on strings that are too long, too.
 * @throws RegistrationError
 */
export function assertSchema(
  schema: TSchema,
  where: string,
  validator: 'own' | 'library' = 'own',
): void {
  registerFormats();
  registerBytes();
  const ids = new Map<string, TSchema>();
  let parts = 0;
  const visit = (node: TSchema, path: string, depth: number): void => {
    parts += 1;
    if (parts > maxParts) throw new RegistrationError(`${where}: ${tooLarge}`);
    const fault =
      depth > maxSchemaDepth
        ? tooDeep
        : (kindFault(node) ??
          idFault(node, ids) ??
          memberFault(node) ??
          (validator === 'own' ? keywordFault(node) : undefined) ??
          formatFault(node) ??
          patternsFault(node, validator));
    if (fault !== undefined) {
      throw new RegistrationError(`${where}${path === '' ? '' : ` at ${path}`}: ${fault}`);
    }
    forEachChild(node, (child, segment) => visit(child, path + segment, depth + 1));
  };
  visit(schema, '', 0);
}

const tooDeep = `schemas nest at most ${maxSchemaDepth} levels; use Type.Recursive for a type that holds itself`;

const tooLarge = `a schema has at most ${maxParts} parts, written out; declare types that it uses again once, with Type.Module`;

function kindFault(schema: TSchema): string | undefined {
  const kind = typeof schema === 'object' && schema !== null ? kindOf(schema) : undefined;
  if (kind === undefined)
    return 'not a TypeBox schema; build it with Type, imported from tandem-rpc';
  const substitute = foreignKinds.get(kind);
  if (substitute !== undefined) return `JSON has no ${kind}; use ${substitute}`;
  if (kindNamed(kind) === undefined && !TypeRegistry.Has(kind)) {
    return `the kind ${JSON.stringify(kind)} is not in TypeBox's TypeRegistry; set its check there first`;
  }
  if (TransformKind in schema) {
    return 'Type.Transform is not applied to calls; declare the JSON type and convert it in the handler';
  }
  return undefined;
}

/** Refuses two different schemas with one $id: TypeBox compiles one check per $id, so both would get the first's. */
function idFault(schema: TSchema, ids: Map<string, TSchema>): string | undefined {
  const id: unknown = schema.$id;
  if (typeof id !== 'string') return undefined;
  const other = ids.get(id);
  if (other !== undefined && other !== schema && !isSameType(other, schema)) {
    return `two different schemas have the $id ${JSON.stringify(id)}; rename one`;
  }
  ids.set(id, schema);
  return undefined;
}

/** Whether two schemas are one type. The marks of Type.Optional and Type.Readonly describe the member, not its type. */
function isSameType(a: TSchema, b: TSchema): boolean {
  const plain = { [OptionalKind]: undefined, [ReadonlyKind]: undefined };
  return isDeepStrictEqual({ ...a, ...plain }, { ...b, ...plain });
}

function memberFault(schema: TSchema): string | undefined {
  if (kindOf(schema) !== 'Object') return undefined;
  const properties: unknown = schema.properties;
  if (typeof properties !== 'object' || properties === null)
    return 'an object schema needs properties';
  const names = [...Object.getOwnPropertyNames(properties), ...listOf<string>(schema.required)];
  const name = names.find((key) => inheritedNames.has(key));
  return name === undefined
    ? undefined
    : `the member name ${JSON.stringify(name)} is one every object inherits, so that its presence can't be checked; rename it`;
}

/** The keywords that the check of a kind looks at, besides the limits of its type; of the other kinds here, of all types. */
const checkedKeywords: Readonly<Record<string, string>> = {
  Object:
    'properties required additionalProperties propertyNames dependentRequired minProperties maxProperties',
  Record:
    'patternProperties additionalProperties propertyNames dependentRequired minProperties maxProperties',
  Array: 'items contains minContains maxContains minItems maxItems uniqueItems',
  Tuple: 'items minItems maxItems',
  Union: 'anyOf',
  Intersect: 'allOf unevaluatedProperties',
  Not: 'not',
  Never: 'not',
  Literal: 'const',
  [bytesKind]: 'maxLength format',
  TemplateLiteral: 'pattern',
};

/** The JSON type of a kind's values; undefined: of several. */
function typeOfKind(schema: TSchema): string | undefined {
  switch (kindOf(schema)) {
    case 'Object':
    case 'Record':
      return 'object';
    case 'Array':
    case 'Tuple':
      return 'array';
    case 'Literal':
      return typeof schema.const;
    case 'Boolean':
    case 'Null':
    case 'Void':
    case 'Undefined':
    case 'Never':
      return 'none';
    case bytesKind:
      return 'string';
    default:
      return kindNamed(kindOf(schema))?.limitedAs;
  }
}

/** Keywords that describe and assert nothing by themselves. */
const describing = new Set([
  'contentEncoding',
  'contentMediaType',
  'maxBytes',
  '$defs',
  'minContains',
  'maxContains',
  'then',
  'else',
]);

const waysOut: Readonly<Record<string, string>> = {
  patternProperties: 'use Type.Record(Type.String({ pattern }), member)',
  prefixItems: 'use Type.Tuple([...])',
  oneOf: 'use Type.Union([...]) of types that a literal tells apart',
  anyOf: 'use Type.Union([...]), with Type.Intersect([...]) beside a type',
  allOf: 'use Type.Intersect([...])',
  not: 'use Type.Intersect([type, Type.Not(...)])',
  if: 'use Type.Union([...]) of types that a literal tells apart',
  dependentSchemas: 'use Type.Union([...]) of an object with the member and one without',
  dependencies: 'use dependentRequired',
  unevaluatedProperties: 'use additionalProperties',
  unevaluatedItems: 'use Type.Tuple([...])',
  $dynamicRef: 'use Type.Recursive or Type.Module',
  $recursiveRef: 'use Type.Recursive or Type.Module',
};

/** Refuses a keyword that rules values out and that no check of the kind looks at. */
function keywordFault(schema: TSchema): string | undefined {
  const kind = kindOf(schema) ?? '';
  const row = kindNamed(kind);
  // A kind of somebody's own has a check of its own.
  if (row === undefined) return undefined;
  const type = typeOfKind(schema);
  const checked = new Set(checkedKeywords[kind]?.split(' '));
  for (const { name, type: about } of keywords) {
    const value: unknown = schema[name];
    if (
      value === undefined ||
      (value === true && name !== 'uniqueItems') ||
      checked.has(name) ||
      describing.has(name)
    )
      continue;
    if (about === undefined ? kind === '' : type !== undefined && type !== about) continue;
    if (row.limitedAs !== undefined && row.limitedAs === about && checked.size === 0) continue;
    if (name === 'uniqueItems' && value === false) continue;
    const way =
      waysOut[name] ??
      (type === undefined
        ? `put it on the type that it is about, such as ${typeOfRow(about)}`
        : 'declare it on a type of its own, joined with Type.Intersect([...])');
    return `the keyword ${name} is not checked on Type.${kind}; ${way}`;
  }
  return limitFault(schema, kind);
}

function typeOfRow(about: string | undefined): string {
  const names = { string: 'Type.String', number: 'Type.Number', array: 'Type.Array' };
  return names[about as keyof typeof names] ?? 'Type.Object';
}

/** A record has one pattern, a tuple as many items as it declares. */
function limitFault(schema: TSchema, kind: string): string | undefined {
  if (kind === 'Record' && Object.keys((schema.patternProperties ?? {}) as object).length > 1)
    return 'patternProperties of Type.Record has one pattern; use Type.Union([...]) of the patterns in one';
  const { minItems, maxItems } = schema as { minItems?: unknown; maxItems?: unknown };
  const { length } = listOf(schema.items);
  const isOther = (limit: unknown): boolean => limit !== undefined && limit !== length;
  if (kind === 'Tuple' && length > 0 && (isOther(minItems) || isOther(maxItems)))
    return `minItems and maxItems of Type.Tuple are its ${length} items; use Type.Union([...]) of tuples`;
  return undefined;
}

function formatFault(schema: TSchema): string | undefined {
  const format: unknown = schema.format;
  if (format === undefined || kindOf(schema) !== 'String') return undefined;
  if (typeof format === 'string' && FormatRegistry.Has(format)) return undefined;
  const known = knownFormats();
  const near = typeof format === 'string' ? suggest(format, known) : undefined;
  const hint = near === undefined ? '' : `; did you mean ${JSON.stringify(near)}?`;
  return `unknown format ${JSON.stringify(format)}${hint} Known: ${known.join(', ')}`;
}

function patternsFault(schema: TSchema, validator: 'own' | 'library'): string | undefined {
  const kind = kindOf(schema);
  const { pattern, maxLength } = schema as { pattern?: unknown; maxLength?: unknown };
  let patterns: unknown[] = [];
  if (kind === 'String' || kind === 'TemplateLiteral')
    patterns = pattern === undefined ? [] : [pattern];
  else if (kind === 'Record') {
    const names = Object.keys((schema.patternProperties ?? {}) as object);
    patterns = names.filter((name) => !plainKeyPatterns.has(name));
  }
  // The length is compared before the pattern, but neither a template nor a name has one.
  const hasLength = kind === 'String' && validator === 'own';
  const given = typeof maxLength === 'number' ? maxLength : undefined;
  for (const one of patterns) {
    if (typeof one !== 'string') return 'pattern must be a string';
    const fault = patternFault(one, hasLength ? given : 'unlimited');
    if (fault !== undefined) return `the pattern ${JSON.stringify(one)} ${fault}`;
  }
  return undefined;
}
