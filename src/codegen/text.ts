/** Thrown for a document that no contract can be made from. The message says in one line what is wrong, and where. */
export class CodegenError extends Error {
  override readonly name = 'CodegenError';
}

// Control characters, format characters (bidirectional marks reorder what a reviewer sees), lone surrogates, and the two
// separators that end a line in some viewers.
const invisible = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu;

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`;
}

/** A string literal. No character of `value` can end it. */
export function quoted(value: string): string {
  const body = value
    .replace(/['\\]/g, '\\$&')
    .replaceAll('\n', '\\n')
    .replaceAll('\t', '\\t')
    .replace(invisible, escaped);
  return `'${body}'`;
}

export function memberName(name: string): string {
  return /^[A-Za-z_$][A-Za-z0-9_$]*$/.test(name) ? name : quoted(name);
}

/** `text` for one line of a comment, where it can neither end the comment nor be a directive to TypeScript. */
export function commentLine(text: string): string {
  return text
    .replaceAll('\t', ' ')
    .replace(invisible, escaped)
    .replaceAll('*/', '*\\/')
    .replace(/@(?=ts-)/gi, '@ ')
    .trimEnd();
}

/** The doc comment with these lines; '' for none. */
export function docComment(lines: readonly string[]): string {
  const all = lines.flatMap((line) => line.split(/\r\n|[\n\r\u2028\u2029]/)).map(commentLine);
  const isText = (line: string): boolean => line !== '';
  const text = all.slice(Math.max(0, all.findIndex(isText)), all.findLastIndex(isText) + 1);
  if (text.length === 0) return '';
  if (text.length === 1 && (text[0] ?? '').length < 90) return `/** ${text[0]} */\n`;
  return `/**\n${text.map((line) => ` * ${line}`.trimEnd()).join('\n')}\n */\n`;
}

/** Indents all lines but the first, which continues a line. */
export function indented(text: string): string {
  return text.replace(/\n(?!\n)/g, '\n  ');
}

const keywords = (
  'break case catch class const continue debugger default delete do else enum export extends false ' +
  'finally for function if import in instanceof new return super switch this throw true try typeof var ' +
  'while with implements interface let package private protected public static yield await'
).split(' ');
// Names that the generated file uses itself, and names that TypeScript allows for no type.
const taken =
  'Bytes Contract Method Procedures Uint8Array procedures Record any bigint boolean never null number object string symbol undefined unknown void'
    .split(' ')
    .concat(keywords);

/** The label of a tuple's element: TypeScript 7 accepts most keywords for no label. */
export function labelName(name: string): string {
  return keywords.includes(name) ? `${name}_` : name;
}

/** Makes names unique: a taken name gets `_2`, `_3` and so on. `#next` keeps many equal names from taking quadratic time. */
export class UniqueNames {
  readonly #next = new Map<string, number>();

  constructor(reserved: readonly string[] = taken) {
    for (const name of reserved) this.#next.set(name, 2);
  }

  take(wanted: string): string {
    let count = this.#next.get(wanted);
    if (count === undefined) {
      this.#next.set(wanted, 2);
      return wanted;
    }
    while (this.#next.has(`${wanted}_${count}`)) count += 1;
    this.#next.set(wanted, count + 1);
    this.#next.set(`${wanted}_${count}`, 2);
    return `${wanted}_${count}`;
  }
}

/** `pet-store.owner` to `PetStoreOwner`. */
export function typeName(text: string): string {
  const words = text.slice(0, 200).match(/[A-Za-z0-9_$]+/g) ?? [];
  const name = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
  return name === '' ? 'Schema' : name.replace(/^(?=[0-9])/, '_');
}

/** `Pet not found` to `PET_NOT_FOUND`. */
export function constantName(text: string): string {
  const words = text.slice(0, 80).match(/[A-Za-z0-9]+/g) ?? [];
  return words.length === 0 ? 'ERROR' : words.join('_').toUpperCase();
}

/** A value of a document as a message shows it. */
export function shown(value: unknown): string {
  const text = typeof value === 'string' ? JSON.stringify(value) : String(typeof value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}
