import { forEachPlain } from '../../core/procedures/schema/schema-tree.ts';
import type { Api, Located, Method, References } from './document.ts';
import { isObject, type JsonObject, memberName, own, quoted } from './text.ts';

/** Most places of bytes in one result, most schemas that are looked at for them, and most levels. */
const maxPlaces = 100;
const maxDepth = 200;
const maxVisited = 10_000;

/**
 * What the client is told beside the types: which calls may be repeated, and where there are bytes. The text of
 * `export const hints`; '' where there is nothing to tell.
 */
export function hintsText({ methods, references }: Api): string {
  const lines = methods.flatMap((method) => {
    const parts = hintOf(method, references);
    return parts.length === 0 ? [] : [`  ${memberName(method.name)}: { ${parts.join(', ')} },\n`];
  });
  if (lines.length === 0) return '';
  return `/** For \`createClient<Contract>({ url, hints })\`: what may be sent again, and where there are bytes. */
export const hints = {\n${lines.join('')}};\n`;
}

function hintOf(
  { effects, params, rest, result, stream, path }: Method,
  references: References,
): string[] {
  const parts = repeatable(effects);
  const places = (schema: unknown): string[] =>
    placesOf({ schema, root: schema, path }, references);
  const sent = [...params.map(({ schema }) => schema), rest];
  if (sent.some((schema) => places(schema).length > 0)) parts.push('sendsBytes: true');
  for (const [name, schema] of [
    ['bytes', result],
    ['yields', stream?.yields],
  ] as const) {
    const found = places(schema);
    if (found.length > 0) parts.push(`${name}: [${found.map(quoted).join(', ')}]`);
  }
  return parts;
}

/** The effects by which a call may be repeated, each as a member of a type or of an object. */
export function repeatable(effects: unknown): string[] {
  return ['readOnly', 'idempotent']
    .filter((name) => isObject(effects) && own(effects, name) === true)
    .map((name) => `${name}: true`);
}

/** Whether a schema is that of bytes, as `Type.Base64()` writes it. */
export function isBytes(schema: JsonObject): boolean {
  return own(schema, 'format') === 'byte' && own(schema, 'contentEncoding') === 'base64';
}

/** JSON Pointers to the bytes within a value of the schema; within a type that holds itself, those of its first level. */
function placesOf(start: Located, references: References): string[] {
  const found = new Set<string>();
  let visited = 0;
  const visit = (at: Located, pointer: string, open: ReadonlySet<string>, depth: number): void => {
    visited += 1;
    const { schema, root, path } = at;
    const isFull = visited > maxVisited || found.size >= maxPlaces || depth >= maxDepth;
    if (isFull || !isObject(schema)) return;
    if (isBytes(schema)) {
      found.add(pointer);
      return;
    }
    const $ref = own(schema, '$ref');
    if (typeof $ref === 'string') {
      const target = references.resolve($ref, at);
      if (!open.has(target.key)) visit(target, pointer, new Set(open).add(target.key), depth + 1);
    }
    // What `not` and `contains` are about is not sent as such; definitions are reached by references.
    forEachPlain(schema, (child, step, keyword) => {
      if (!['not', 'contains', '$defs'].includes(keyword))
        visit({ schema: child, root, path }, pointer + step, open, depth + 1);
    });
  };
  visit(start, '', new Set(), 0);
  return [...found];
}
