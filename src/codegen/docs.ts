import { isObject, type JsonObject, own, stringOf } from './json.ts';

/** What TypeScript has no type for and a caller wants to know. */
const constraints = [
  'format',
  'pattern',
  'minLength',
  'maxLength',
  'minimum',
  'exclusiveMinimum',
  'maximum',
  'exclusiveMaximum',
  'multipleOf',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
] as const;

const longestValue = 200;

/** The lines of the doc comment of a member or a type: its description, then its tags. */
export function schemaDoc(schema: unknown, description?: string): string[] {
  if (!isObject(schema)) return description === undefined ? [] : [description];
  const text = description ?? stringOf(schema, 'description') ?? titleOf(schema);
  const lines = text === undefined ? [] : [text];
  if (own(schema, 'deprecated') === true) lines.push('@deprecated');
  if (own(schema, 'type') === 'integer') lines.push('@integer');
  // A tuple's length is in its type.
  const isTuple = Array.isArray(own(schema, 'items')) || Array.isArray(own(schema, 'prefixItems'));
  for (const name of constraints) {
    if (!(isTuple && name.endsWith('Items'))) addTag(lines, schema, name);
  }
  addTag(lines, schema, 'default');
  return lines;
}

/** One word is a name, which says nothing beside the type's own. */
function titleOf(schema: JsonObject): string | undefined {
  const title = stringOf(schema, 'title');
  return title?.includes(' ') === true ? title : undefined;
}

function addTag(lines: string[], schema: JsonObject, name: string): void {
  const value = own(schema, name);
  if (value === undefined) return;
  if (typeof value === 'object' && value !== null && name !== 'default') return;
  const text =
    typeof value === 'string' && name !== 'default' ? value : (JSON.stringify(value) ?? '');
  // On one line: what follows would be a description, or a tag of its own.
  const line = text.replace(/\s+/g, ' ');
  lines.push(`@${name} ${line.length > longestValue ? `${line.slice(0, longestValue)}...` : line}`);
}
