/**
 * A second, slow reading of JSON and of docs/protocol.md ("Envelope", "Batch"), written apart from src: one
 * recursive descent, no JSON.parse, no native search. The properties hold the fast readers against it.
 */

export interface Value {
  readonly kind: 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null';
  /** Offsets in the text: the first character, and the one after the last. */
  readonly start: number;
  readonly end: number;
  /** The value itself, of a string or of a number. */
  readonly value: unknown;
  readonly members: readonly { readonly name: string; readonly value: Value }[];
  readonly items: readonly Value[];
  /** How deep arrays and objects nest in it: 0 for a scalar. */
  readonly depth: number;
}

/** Thrown by the parser. One for all: to collect a stack for each takes most of the time of a property. */
const notJson = new Error('no JSON');

/** undefined: the text is not JSON. */
export function parseModel(text: string): Value | undefined {
  try {
    const parser = new Parser(text);
    return parser.document();
  } catch (error) {
    if (error === notJson) return undefined;
    throw error;
  }
}

/**
 * Whether an array begins the text, and of it so many items that nest no deeper, each with a comma behind it:
 * what follows the last of those is not looked at.
 */
export function beginsLongArray(text: string, count: number, maxDepth: number): boolean {
  try {
    return new Parser(text).beginsLongArray(count, maxDepth);
  } catch (error) {
    if (error === notJson) return false;
    throw error;
  }
}

class Parser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  document(): Value {
    const value = this.#value();
    this.#blanks();
    if (this.#at !== this.#text.length) throw notJson;
    return value;
  }

  beginsLongArray(count: number, maxDepth: number): boolean {
    this.#blanks();
    if (!this.#take('[')) return false;
    for (let n = 0; n < count; n++) {
      if (this.#value().depth >= maxDepth) return false;
      this.#blanks();
      if (!this.#take(',')) return false;
    }
    return true;
  }

  #blanks(): void {
    while (' \t\n\r'.includes(this.#text[this.#at] ?? 'end')) this.#at++;
  }

  #take(wanted: string): boolean {
    if (this.#text[this.#at] !== wanted) return false;
    this.#at++;
    return true;
  }

  #expect(wanted: string): void {
    for (const c of wanted) if (!this.#take(c)) throw notJson;
  }

  #value(): Value {
    this.#blanks();
    const start = this.#at;
    const make = (kind: Value['kind'], rest: Partial<Value> = {}): Value => ({
      kind,
      start,
      end: this.#at,
      value: undefined,
      members: [],
      items: [],
      depth: 0,
      ...rest,
    });
    const c = this.#text[start];
    if (c === '{') {
      const members = this.#members();
      return make('object', { members, depth: 1 + deepest(members.map(({ value }) => value)) });
    }
    if (c === '[') {
      const items = this.#items();
      return make('array', { items, depth: 1 + deepest(items) });
    }
    if (c === '"') {
      const value = this.#string();
      return make('string', { value });
    }
    if (c === 't' || c === 'f') {
      this.#expect(c === 't' ? 'true' : 'false');
      return make('boolean');
    }
    if (c === 'n') {
      this.#expect('null');
      return make('null');
    }
    const number = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/.exec(
      this.#text.slice(start),
    );
    if (number === null) throw notJson;
    this.#at += number[0].length;
    return make('number', { value: Number(number[0]) });
  }

  #members(): { name: string; value: Value }[] {
    const members: { name: string; value: Value }[] = [];
    this.#expect('{');
    this.#blanks();
    if (this.#take('}')) return members;
    do {
      this.#blanks();
      const name = this.#string();
      this.#blanks();
      this.#expect(':');
      members.push({ name, value: this.#value() });
      this.#blanks();
    } while (this.#take(','));
    this.#expect('}');
    return members;
  }

  #items(): Value[] {
    const items: Value[] = [];
    this.#expect('[');
    this.#blanks();
    if (this.#take(']')) return items;
    do {
      items.push(this.#value());
      this.#blanks();
    } while (this.#take(','));
    this.#expect(']');
    return items;
  }

  #string(): string {
    this.#expect('"');
    let value = '';
    for (;;) {
      const c = this.#text[this.#at++];
      if (c === undefined || c < ' ') throw notJson;
      if (c === '"') return value;
      value += c === '\\' ? this.#escape() : c;
    }
  }

  #escape(): string {
    const c = this.#text[this.#at++] ?? '';
    const plain: Record<string, string> = {
      '"': '"',
      '\\': '\\',
      '/': '/',
      b: '\b',
      f: '\f',
      n: '\n',
      r: '\r',
      t: '\t',
    };
    if (c !== '' && Object.hasOwn(plain, c)) return plain[c] as string;
    const hex = this.#text.slice(this.#at, this.#at + 4);
    if (c !== 'u' || !/^[0-9a-fA-F]{4}$/.test(hex)) throw notJson;
    this.#at += 4;
    return String.fromCharCode(Number.parseInt(hex, 16));
  }
}

function deepest(values: readonly Value[]): number {
  return values.reduce((most, { depth }) => Math.max(most, depth), 0);
}

/** What docs/protocol.md says a request is: its parts, or the id that its -32600 carries, and whether only its params are wrong. */
export type Reading =
  | { readonly invalid: string; readonly isOfParams: boolean }
  | {
      readonly method: string;
      readonly id: string | undefined;
      /** The text of the params as they were sent; undefined: none. */
      readonly params: string | undefined;
    };

export function readModel(text: string, value: Value, strict: boolean): Reading {
  if (value.kind !== 'object' || value.members.length > 256) {
    return { invalid: 'null', isOfParams: false };
  }
  const all = (name: string) => value.members.filter((member) => member.name === name);
  const textOf = ({ start, end }: Value) => text.slice(start, end);
  const ids = all('id');
  const id = ids[0]?.value;
  const goodId = ids.length === 0 || (ids.length === 1 && id !== undefined && isId(id));
  const idText = id === undefined || !goodId ? undefined : textOf(id);
  const [version, method, params] = ['jsonrpc', 'method', 'params'].map((name) => all(name));
  const once = [version, method, params].every((found) => (found?.length ?? 0) <= 1);
  const goodVersion = version?.length === 0 ? !strict : version?.[0]?.value.value === '2.0';
  const name = method?.[0]?.value.value;
  const goodName = typeof name === 'string' && name.length >= 1 && name.length <= 256;
  const given = params?.[0]?.value;
  const goodParams = given === undefined || given.kind === 'object' || given.kind === 'array';
  if (!goodId || !once || !goodVersion || !goodName) {
    return { invalid: idText ?? 'null', isOfParams: false };
  }
  if (!goodParams) return { invalid: idText ?? 'null', isOfParams: true };
  return { method: name, id: idText, params: given && textOf(given) };
}

function isId(id: Value): boolean {
  if (id.kind === 'null') return true;
  if (id.kind === 'string') return (id.value as string).length <= 256;
  return id.kind === 'number' && id.end - id.start <= 256;
}
