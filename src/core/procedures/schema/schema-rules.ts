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
import { kindNamed } from './keywords.ts';
import { patternFault } from './patterns.ts';
import { forEachChild, kindOf } from './schema-tree.ts';
import { registerBytes } from './type.ts';

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
  const name = Object.getOwnPropertyNames(properties).find((key) => inheritedNames.has(key));
  return name === undefined
    ? undefined
    : `the member name ${JSON.stringify(name)} is one every object inherits, so that its presence can't be checked; rename it`;
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
