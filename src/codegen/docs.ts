import { isObject, type JsonObject, own, stringOf } from './json.ts';

/** Keywords that TypeScript has no type for, and that callers want to know. */
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

/** The lines of the doc comment for a member or a type: the description, then the tags. */
export function schemaDoc(schema: unknown, description?: string): string[] {
  if (!isObject(schema)) return description === undefined ? [] : [description];
  const text = description ?? stringOf(schema, 'description') ?? titleOf(schema);
  const lines = text === undefined ? [] : [text];
  if (own(schema, 'deprecated') === true) lines.push('@deprecated');
  if (own(schema, 'type') === 'integer') lines.push('@integer');
  // The type of a tuple already tells its length.
  const isTuple = Array.isArray(own(schema, 'items')) || Array.isArray(own(schema, 'prefixItems'));
  for (const name of constraints) {
    if (!(isTuple && name.endsWith('Items'))) addTag(lines, schema, name);
  }
  addTag(lines, schema, 'default');
  return lines;
}

/** The title, unless it is a single word: that is a name, and the type has a name already. */
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
  // On one line, since a second line would be read as a description or as another tag.
  const line = text.replace(/\s+/g, ' ');
  lines.push(`@${name} ${line.length > longestValue ? `${line.slice(0, longestValue)}...` : line}`);
}
