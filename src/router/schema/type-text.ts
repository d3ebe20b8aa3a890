import { isObject } from '../../jsonrpc/envelope.ts';
import { refId } from './schema-tree.ts';
import { maxTextDepth, type SchemaLike, TextScope } from './text-scope.ts';

export interface TypeTextOptions {
  /** For a message: write only the beginning, with `…` in place of the rest. The text is then no valid type. */
  readonly isShort?: boolean;
}

const unnameable = new Set(
  (
    'any array bigint boolean never null number object string symbol undefined unknown void Array Record ' +
    'break case catch class const continue debugger default delete do else enum export extends false ' +
    'finally for function if import in instanceof new return super switch this throw true try typeof var ' +
    'while with implements interface let package private protected public static yield'
  ).split(' '),
);

/** Most characters of the members' types that the index signature of an object repeats. */
const maxRepeated = 10_000;

/** A piece of type text. `loose`: it needs parentheses beside `[]` or `&`. */
interface Piece {
  readonly text: string;
  readonly loose: boolean;
}

interface Walk {
  /** The recursive schemas that are being written out around this place, with the names of their types. */
  readonly open: ReadonlyMap<string, string>;
  readonly depth: number;
  readonly whole: TextScope;
}

/**
 * The TypeScript type of a JSON Schema, on one line, e.g. `{ id: string; tags?: string[] }`. A recursive schema is
 * written out once, and refers to itself by its name. No text of the schema can leave its literal: generated code may
 * hold the type in code and in comments. After 20,000 pieces every further part is `unknown`.
 */
export function typeText(schema: SchemaLike, options: TypeTextOptions = {}): string {
  const whole = new TextScope(schema, options.isShort === true);
  return write(schema, { open: new Map(), depth: 0, whole }).text;
}

function tight(text: string): Piece {
  return { text, loose: false };
}

function write(schema: SchemaLike, walk: Walk): Piece {
  const beyond = walk.depth > maxTextDepth ? 'unknown' : walk.whole.takePiece();
  if (beyond !== undefined) return tight(beyond);
  const { $id, $ref } = schema;
  if (typeof $ref === 'string') return writeReference(refId($ref), walk);
  return typeof $id === 'string' ? writeNamed($id, schema, walk) : writeBody(schema, inside(walk));
}

function writeReference(id: string, walk: Walk): Piece {
  const name = walk.open.get(id);
  if (name !== undefined) return tight(name);
  const target = walk.whole.targets.get(id);
  return target === undefined ? tight(typeName(id)) : writeNamed(id, target, inside(walk));
}

function writeNamed(id: string, schema: SchemaLike, walk: Walk): Piece {
  const name = walk.open.get(id);
  if (name !== undefined) return tight(name);
  if (!walk.whole.isRecursive(id, schema)) return writeBody(schema, inside(walk));
  return writeBody(schema, { ...inside(walk), open: new Map(walk.open).set(id, typeName(id)) });
}

function inside(walk: Walk): Walk {
  return { ...walk, depth: walk.depth + 1 };
}

function writeBody(schema: SchemaLike, walk: Walk): Piece {
  if ('const' in schema) return tight(literal(schema.const));
  if (Array.isArray(schema.enum)) return union(schema.enum.map((value) => tight(literal(value))));
  for (const key of ['anyOf', 'oneOf']) {
    if (Array.isArray(schema[key]))
      return union(schemas(schema[key]).map((one) => write(one, walk)));
  }
  if (Array.isArray(schema.allOf)) {
    return intersection(schemas(schema.allOf).map((one) => write(one, walk)));
  }
  const { type, not } = schema;
  if (isObject(not)) return tight(Object.keys(not).length === 0 ? 'never' : 'unknown');
  if (Array.isArray(type)) return union(type.map((one) => writeType(one, schema, walk)));
  return writeType(type, schema, walk);
}

function writeType(type: unknown, schema: SchemaLike, walk: Walk): Piece {
  switch (type) {
    case 'string':
    case 'number':
    case 'boolean':
    case 'null':
    case 'undefined':
      return tight(type);
    case 'integer':
      return tight('number');
    case 'void':
      return tight('null'); // a procedure that returns nothing answers null
    case 'array':
      return tight(arrayText(schema, walk));
    case 'object':
      return tight(objectText(schema, walk));
    default:
      return tight('unknown');
  }
}

function arrayText(schema: SchemaLike, walk: Walk): string {
  const { items } = schema;
  if (Array.isArray(items)) {
    return `[${schemas(items)
      .map((item) => write(item, walk).text)
      .join(', ')}]`;
  }
  if (items === undefined && schema.maxItems === 0) return '[]';
  return isObject(items) ? `${enclosed(write(items, walk))}[]` : 'unknown[]';
}

function objectText(schema: SchemaLike, walk: Walk): string {
  const properties = isObject(schema.properties) ? Object.entries(schema.properties) : [];
  const required = new Set(Array.isArray(schema.required) ? (schema.required as unknown[]) : []);
  const texts: string[] = [];
  const members = properties.map(([name, member]) => {
    const text = isObject(member) ? write(member, walk).text : 'unknown';
    const optional = !required.has(name);
    texts.push(text);
    if (optional) texts.push('undefined');
    return `${memberName(name)}${optional ? '?' : ''}: ${text}`;
  });
  const rest = restTexts(schema, walk);
  if (members.length === 0) {
    if (rest.length > 0) return `Record<string, ${union(rest.map(tight)).text}>`;
    return `Record<string, ${schema.additionalProperties === false ? 'never' : 'unknown'}>`;
  }
  // TypeScript demands that an index signature covers the named members too.
  if (rest.length > 0) members.push(`[name: string]: ${indexType([...texts, ...rest])}`);
  return `{ ${members.join('; ')} }`;
}

/** The type of an index signature; `unknown` where it is long, since the text would double at each level of nesting. */
function indexType(texts: readonly string[]): string {
  const size = texts.reduce((sum, text) => sum + text.length, 0);
  return size > maxRepeated ? 'unknown' : union(texts.map(tight)).text;
}

/** The types of the members that the schema does not name. */
function restTexts(schema: SchemaLike, walk: Walk): string[] {
  const { additionalProperties, patternProperties } = schema;
  const texts = isObject(patternProperties)
    ? Object.values(patternProperties)
        .filter(isObject)
        .map((member) => write(member, walk).text)
    : [];
  if (additionalProperties === true) texts.push('unknown');
  if (isObject(additionalProperties)) texts.push(write(additionalProperties, walk).text);
  return texts;
}

function union(pieces: readonly Piece[]): Piece {
  const texts = [...new Set(pieces.map(({ text }) => text))];
  if (texts.includes('unknown')) return tight('unknown');
  return { text: texts.length === 0 ? 'never' : texts.join(' | '), loose: texts.length > 1 };
}

function intersection(pieces: readonly Piece[]): Piece {
  const [only] = pieces;
  if (only === undefined) return tight('unknown');
  if (pieces.length === 1) return only;
  return { text: pieces.map(enclosed).join(' & '), loose: true };
}

function enclosed(piece: Piece): string {
  return piece.loose ? `(${piece.text})` : piece.text;
}

/** A JSON literal that stays one token in code, in a block comment and in a line comment. */
function quoted(value: string): string {
  return JSON.stringify(value)
    .replaceAll('*/', '*\\/')
    .replaceAll('\u2028', '\\u2028')
    .replaceAll('\u2029', '\\u2029');
}

function literal(value: unknown): string {
  if (typeof value === 'string') return quoted(value);
  if (typeof value === 'boolean' || value === null) return String(value);
  return typeof value === 'number' && Number.isFinite(value) ? String(value) : 'unknown';
}

function memberName(name: string): string {
  return /^[A-Za-z_$][A-Za-z0-9_$]*$/.test(name) ? name : quoted(name);
}

/** The identifier that stands for a named schema. */
function typeName(id: string): string {
  const name = id.replace(/[^A-Za-z0-9_$]/g, '_').replace(/^(?=[0-9]|$)/, '_');
  return unnameable.has(name) ? `${name}_` : name;
}

function schemas(list: readonly unknown[]): SchemaLike[] {
  return list.map((one) => (isObject(one) ? one : {}));
}
