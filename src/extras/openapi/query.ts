import { shown } from '../../core/base/text.ts';
import { jsonTypeOf } from '../../core/base/value-kinds.ts';
import { readableText } from '../../core/protocol/exact.ts';
import { endOfValue, OPEN_BRACE, OPEN_BRACKET, skipBlanks } from '../../core/protocol/syntax.ts';
import { anything, type SchemaNode } from '../../core/schema/model.ts';
import { isNever, readNotes } from './dialect.ts';

/** The params that a query stands for, or why it stands for none. */
export type ReadQuery =
  | {
      /** The members of a JSON object without its braces; empty: there are none. */
      readonly members: string;
    }
  | { readonly reason: string };

/** A number of JSON (RFC 8259, 6). `Number()` takes more: blanks, `0x10`, `Infinity`, the empty text. */
const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

export interface QueryRules {
  /** The named params, in their order. */
  readonly params: ReadonlyMap<string, ParamKinds>;
  /** What params of other names may be; undefined: there are none. */
  readonly others: ParamKinds | undefined;
}

const everyKind = ['string', 'number', 'boolean', 'null', 'object', 'array'] as const;
type JsonKind = (typeof everyKind)[number];

/** Which kinds of values a param takes, by which the texts of a query are read. */
export class ParamKinds {
  readonly kinds: ReadonlySet<JsonKind>;
  readonly #itemNodes: SchemaNode[] = [];
  #items: ParamKinds | undefined;

  /** @param nodes of which a value matches one */
  constructor(...nodes: readonly SchemaNode[]) {
    this.kinds = new Set(nodes.flatMap((node) => this.#kindsOf(node, [])));
  }

  /** Made when they are asked for: a type may be an array of itself. */
  get items(): ParamKinds | undefined {
    if (!this.kinds.has('array')) return undefined;
    const nodes = this.#itemNodes;
    this.#items ??= new ParamKinds(...(nodes.length === 0 ? [anything] : nodes));
    return this.#items;
  }

  /** Whether a query shows its values: it is one of them, or a list of such. */
  get isFlat(): boolean {
    const { kinds, items } = this;
    if (kinds.has('object')) return false;
    if (items === undefined) return true;
    return kinds.size === 1 && !items.kinds.has('array') && items.isFlat;
  }

  /** @param open the types around it that the same value has */
  #kindsOf(node: SchemaNode, open: readonly SchemaNode[]): readonly JsonKind[] {
    const kindsOf = (part: SchemaNode): readonly JsonKind[] => this.#kindsOf(part, [...open, node]);
    switch (node.kind) {
      case 'literal':
        return [jsonTypeOf(node.value) as JsonKind];
      case 'array':
        this.#itemNodes.push(...node.prefix, node.rest);
        return ['array'];
      case 'union':
        return node.variants.flatMap(kindsOf);
      case 'intersection':
        return node.parts
          .map(kindsOf)
          .reduce((left, kinds) => left.filter((kind) => kinds.includes(kind)), everyKind);
      case 'ref':
        return open.includes(node.target) ? [] : kindsOf(node.target);
      case 'not':
        return isNever(node) ? [] : everyKind;
      case 'custom':
        return kindsOf(readNotes(node));
      default:
        return kindsOfNodes[node.kind];
    }
  }
}

const kindsOfNodes = {
  unknown: everyKind,
  never: [],
  undefined: [],
  void: ['null'],
  null: ['null'],
  boolean: ['boolean'],
  number: ['number'],
  integer: ['number'],
  string: ['string'],
  bytes: ['string'],
  object: ['object'],
} as const;

/**
 * Reads a query as named params. The schema of a member says what its text becomes. A text that fits nothing stays a text, so
 * that the validator refuses it with the usual `path`, `expected` and `received`.
 *
 * @param query without its question mark
 * @param maxDepth most levels of a value that is written as JSON
 * @param bytesName the param that the body holds; undefined: none
 */
export function readQuery(
  query: string,
  { params, others }: QueryRules,
  maxDepth: number,
  bytesName?: string,
): ReadQuery {
  if (query === '') return { members: '' };
  if (!encodesUtf8(query)) return { reason: 'the query is not percent-encoded UTF-8' };
  // A Map: callers choose the names, and `__proto__` is a name like others.
  const texts = new Map<string, string[]>();
  for (const [name, text] of new URLSearchParams(query)) {
    const list = texts.get(name);
    if (list === undefined) texts.set(name, [text]);
    else list.push(text);
  }
  const members: string[] = [];
  for (const [name, list] of texts) {
    if (name === bytesName) {
      return { reason: `${shown(name)} is the body of the request: leave it out of the query` };
    }
    const value = memberText(list, params.get(name) ?? others ?? unknown, maxDepth);
    if (value === undefined) {
      return { reason: `${shown(name)} takes one value, and the query has ${list.length}` };
    }
    members.push(`${JSON.stringify(name)}:${value}`);
  }
  return { members: members.join(',') };
}

const encodedBytes = /(?:%[\dA-Fa-f]{2})+/g;

/** Whether the bytes that a query encodes are UTF-8: URLSearchParams would replace others. A `%` that encodes nothing is itself. */
function encodesUtf8(query: string): boolean {
  try {
    decodeURIComponent(query.match(encodedBytes)?.join('&') ?? '');
    return true;
  } catch {
    return false;
  }
}

/** Of a name that the schema does not have: the validator refuses it by its name, whatever its value is. */
const unknown = new ParamKinds({ kind: 'string', notes: {} });

/** The JSON text of a member; undefined: it takes one value, and there are several. */
function memberText(
  texts: readonly string[],
  kinds: ParamKinds,
  maxDepth: number,
): string | undefined {
  const { items } = kinds;
  const itemText = (text: string, of: ParamKinds): string =>
    valueText(text, of, maxDepth) ?? JSON.stringify(text);
  const [first = ''] = texts;
  if (texts.length === 1) {
    const value = valueText(first, kinds, maxDepth);
    if (value !== undefined || items === undefined) return value ?? JSON.stringify(first);
    return `[${itemText(first, items)}]`;
  }
  return items && `[${texts.map((text) => itemText(text, items)).join(',')}]`;
}

/** The JSON text of the value that one text stands for; undefined: it fits nothing that the schema allows. */
function valueText(
  text: string,
  { kinds, items }: ParamKinds,
  maxDepth: number,
): string | undefined {
  // First, so that the type of a value never depends on what it says: `5` of `string | number` is a string.
  if (kinds.has('string')) return JSON.stringify(text);
  if (kinds.has('number') && jsonNumber.test(text)) return text;
  if (kinds.has('boolean') && (text === 'true' || text === 'false')) return text;
  if (kinds.has('null') && text === 'null') return text;
  if (kinds.has('object') && isJson(text, OPEN_BRACE, maxDepth)) return text;
  // If an item can be a string, `[1]` may be that item.
  const takesList = items !== undefined && !items.kinds.has('string');
  return takesList && isJson(text, OPEN_BRACKET, maxDepth) ? text : undefined;
}

/** Whether a text is one JSON object, or one array. Its values are not parsed: the text becomes a part of the params. */
function isJson(text: string, bracket: number, maxDepth: number): boolean {
  const { units, length } = readableText(text);
  const start = skipBlanks(units, 0, length);
  if (units[start] !== bracket) return false;
  const end = endOfValue(units, start, length, maxDepth);
  return end !== -1 && skipBlanks(units, end, length) === length;
}
