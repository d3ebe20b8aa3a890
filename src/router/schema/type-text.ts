import { isSchemaLike, maxTextDepth, refId, type SchemaLike, TextScope } from './text-scope.ts';

export interface TypeTextOptions {
  /**
   * Collects named types as `name -> type text` where given: a recursive schema then becomes its name. Without it a
   * recursive schema is written out once, and refers to itself by its name.
   */
  readonly declarations?: Map<string, string>;
  /** For a message: only the beginning is written out, with `…` in place of the rest. It is no type then. */
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

/** Characters of the types of an object's members, which its index signature would repeat. */
const maxRepeated = 10_000;

/** A piece of type text and whether it must stand in parentheses beside `[]` or `&`. */
interface Piece {
  readonly text: string;
  readonly loose: boolean;
}

interface Walk {
  /** The named schemas that are being written out around this place, each with its type's name. */
  readonly open: ReadonlyMap<string, string>;
  readonly declarations: Map<string, string> | undefined;
  readonly depth: number;
  /** Of the whole text. */
  readonly whole: TextScope;
}

/**
 * The TypeScript type of a JSON Schema, on one line, e.g. `{ id: string; tags?: string[] }`. Nothing from
 * the schema can leave its literal: generated code may hold this text in code and in comments. What would take more
 * than 20,000 pieces is `unknown` from there on.
 */
export function typeText(schema: SchemaLike, options: TypeTextOptions = {}): string {
  const { declarations, isShort = false } = options;
  const whole = new TextScope(schema, isShort);
  return write(schema, { open: new Map(), declarations, depth: 0, whole }).text;
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
  const bodyAs = (own: string): Piece =>
    writeBody(schema, { ...inside(walk), open: new Map(walk.open).set(id, own) });
  const { declarations } = walk;
  if (declarations === undefined) return bodyAs(typeName(id));
  // Two documents may use one name for different types: the second becomes name_2.
  for (let count = 1; ; count += 1) {
    const own = count === 1 ? typeName(id) : `${typeName(id)}_${count}`;
    const { text } = bodyAs(own);
    const declared = declarations.get(own);
    if (declared !== undefined && declared !== text) continue;
    declarations.set(own, text);
    return tight(own);
  }
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
  if (isSchemaLike(not)) return tight(Object.keys(not).length === 0 ? 'never' : 'unknown');
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
      return tight('null'); // what a procedure without a result answers
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
  return isSchemaLike(items) ? `${enclosed(write(items, walk))}[]` : 'unknown[]';
}

function objectText(schema: SchemaLike, walk: Walk): string {
  const properties = isSchemaLike(schema.properties) ? Object.entries(schema.properties) : [];
  const required = new Set(Array.isArray(schema.required) ? (schema.required as unknown[]) : []);
  const texts: string[] = [];
  const members = properties.map(([name, member]) => {
    const text = isSchemaLike(member) ? write(member, walk).text : 'unknown';
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
  // An index signature must cover the named members too.
  if (rest.length > 0) members.push(`[name: string]: ${indexType([...texts, ...rest])}`);
  return `{ ${members.join('; ')} }`;
}

/** Repeated at each level of nested objects, their text would double with it. */
function indexType(texts: readonly string[]): string {
  const size = texts.reduce((sum, text) => sum + text.length, 0);
  return size > maxRepeated ? 'unknown' : union(texts.map(tight)).text;
}

/** The types of the members that have no name in the schema. */
function restTexts(schema: SchemaLike, walk: Walk): string[] {
  const { additionalProperties, patternProperties } = schema;
  const texts = isSchemaLike(patternProperties)
    ? Object.values(patternProperties)
        .filter(isSchemaLike)
        .map((member) => write(member, walk).text)
    : [];
  if (additionalProperties === true) texts.push('unknown');
  if (isSchemaLike(additionalProperties)) texts.push(write(additionalProperties, walk).text);
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
  return list.map((one) => (isSchemaLike(one) ? one : {}));
}
