/** A regular expression as a tree. A reference holds the groups whose text it may repeat. */
export type PatternNode =
  | { readonly kind: 'characters'; readonly ranges: readonly Range[] }
  | { readonly kind: 'sequence'; readonly parts: readonly PatternNode[] }
  | { readonly kind: 'choice'; readonly parts: readonly PatternNode[] }
  | {
      readonly kind: 'repeat';
      readonly body: PatternNode;
      readonly least: number;
      readonly most: number;
    }
  | { readonly kind: 'look'; readonly body: PatternNode; readonly isBehind: boolean }
  /** A group with flags of its own, such as `(?i:a)`. */
  | { readonly kind: 'flags'; readonly body: PatternNode }
  | { readonly kind: 'reference'; readonly groups: readonly PatternNode[] }
  | { readonly kind: 'start' }
  | { readonly kind: 'condition' };

/** Code units from the first to the second, both included. */
export type Range = readonly [from: number, to: number];

export const lastUnit = 0xffff;
const digits: readonly Range[] = [[48, 57]];
const word: readonly Range[] = [...digits, [65, 90], [95, 95], [97, 122]];
const lineBreaks: readonly Range[] = [
  [10, 10],
  [13, 13],
  [0x2028, 0x2029],
];
const spaces: readonly Range[] = [
  [9, 13],
  [32, 32],
  [160, 160],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
];
export const anyUnit: readonly Range[] = [[0, lastUnit]];
const controls: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13 };

const halves: readonly Range[] = [[0xd800, 0xdfff]];

function complement(ranges: readonly Range[]): Range[] {
  const found: Range[] = [];
  let next = 0;
  for (const [from, to] of [...ranges].sort(([a], [b]) => a - b)) {
    if (from > next) found.push([next, from - 1]);
    next = Math.max(next, to + 1);
  }
  if (next <= lastUnit) found.push([next, lastUnit]);
  return found;
}

/** What the letters after a backslash stand for. */
const classes: ReadonlyMap<string, readonly Range[]> = new Map([
  ['d', digits],
  ['D', complement(digits)],
  ['w', word],
  ['W', complement(word)],
  ['s', spaces],
  ['S', complement(spaces)],
]);

/** Deeper ones are not read, for this file and its users go down by recursion. */
const maxDepth = 200;

/**
 * Reads a pattern that RegExp takes without flags, which is the grammar of ECMA-262, annex B.1.2.
 *
 * @throws RangeError if its groups nest too deep
 */
export function parsePattern(pattern: string): PatternNode {
  return new Parser(pattern).parse();
}

class Parser {
  readonly #text: string;
  readonly #groupCount: number;
  readonly #hasNames: boolean;
  readonly #groups: PatternNode[] = [];
  readonly #named = new Map<string, PatternNode[]>();
  /** References are filled at the end: the groups of some stand after them. */
  readonly #references: { readonly key: number | string; readonly groups: PatternNode[] }[] = [];
  #hasFlags = false;
  #opened = 0;
  #depth = 0;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
    // The empty alternative matches at once, and the match has a place for each group.
    const match = new RegExp(`|${text}`).exec('');
    this.#groupCount = (match?.length ?? 1) - 1;
    this.#hasNames = match?.groups !== undefined;
  }

  parse(): PatternNode {
    const root = this.#choice();
    for (const { key, groups } of this.#references) {
      const found =
        typeof key === 'number' ? this.#groups.slice(key, key + 1) : this.#named.get(key);
      // The group may stand in one with flags, which its text then shows.
      for (const body of found ?? []) groups.push(this.#hasFlags ? { kind: 'flags', body } : body);
    }
    return root;
  }

  #takes(text: string): boolean {
    if (!this.#text.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  /** The match of a sticky expression at the present place, which moves after it. */
  #match(expression: RegExp): RegExpExecArray | undefined {
    expression.lastIndex = this.#at;
    const match = expression.exec(this.#text) ?? undefined;
    if (match !== undefined) this.#at = expression.lastIndex;
    return match;
  }

  #unit(): number {
    const unit = this.#text.charCodeAt(this.#at);
    this.#at += 1;
    return unit;
  }

  #choice(): PatternNode {
    this.#depth += 1;
    if (this.#depth > maxDepth) throw new RangeError('its groups nest too deep');
    const parts = [this.#sequence()];
    while (this.#takes('|')) parts.push(this.#sequence());
    this.#depth -= 1;
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : { kind: 'choice', parts };
  }

  #sequence(): PatternNode {
    const parts: PatternNode[] = [];
    while (this.#at < this.#text.length && !/[|)]/.test(this.#text.charAt(this.#at))) {
      parts.push(this.#repeated(this.#term()));
    }
    return { kind: 'sequence', parts };
  }

  #repeated(body: PatternNode): PatternNode {
    const match = this.#match(/(?:([*+?])|\{(\d+)(,(\d*))?\})\??/y);
    if (match === undefined) return body;
    const [, sign, least, comma, most] = match;
    if (sign !== undefined) {
      const top = sign === '?' ? 1 : Infinity;
      return { kind: 'repeat', body, least: sign === '+' ? 1 : 0, most: top };
    }
    const top = comma === undefined ? Number(least) : most === '' ? Infinity : Number(most);
    return { kind: 'repeat', body, least: Number(least), most: top };
  }

  #term(): PatternNode {
    if (this.#takes('^')) return { kind: 'start' };
    if (this.#takes('$') || this.#takes('\\b') || this.#takes('\\B')) return { kind: 'condition' };
    if (this.#takes('.')) return characters(complement(lineBreaks));
    if (this.#takes('[')) return characters(this.#class());
    if (this.#takes('(')) return this.#group();
    if (this.#takes('\\')) return this.#reference() ?? characters(this.#escape(false));
    return characters(one(this.#unit()));
  }

  #group(): PatternNode {
    const look = this.#match(/\?(<?)[=!]/y);
    if (look !== undefined) return { kind: 'look', body: this.#body(), isBehind: look[1] === '<' };
    const flags = this.#match(/\?[a-z-]*:/y)?.[0];
    if (flags !== undefined) {
      const body = this.#body();
      if (flags === '?:') return body;
      this.#hasFlags = true;
      return { kind: 'flags', body };
    }
    const name = this.#match(/\?<([^>]*)>/y)?.[1];
    this.#opened += 1;
    const number = this.#opened;
    const body = this.#body();
    this.#groups[number] = body;
    if (name !== undefined) {
      const key = nameOf(name);
      this.#named.set(key, [...(this.#named.get(key) ?? []), body]);
    }
    return body;
  }

  #body(): PatternNode {
    const body = this.#choice();
    this.#at += 1; // the bracket
    return body;
  }

  #reference(): PatternNode | undefined {
    const before = this.#at;
    const number = this.#match(/[1-9]\d*/y)?.[0];
    const isGroup = number !== undefined && Number(number) <= this.#groupCount;
    const name = this.#hasNames ? this.#match(/k<([^>]*)>/y)?.[1] : undefined;
    if (!isGroup && name === undefined) {
      this.#at = before;
      return undefined;
    }
    const groups: PatternNode[] = [];
    this.#references.push({ key: name === undefined ? Number(number) : nameOf(name), groups });
    return { kind: 'reference', groups };
  }

  /** The characters that an escape stands for, after its backslash. */
  #escape(isInClass: boolean): readonly Range[] {
    // Any unit stands for a class of Unicode, and any half of a pair for a character beyond 16 bits: that finds no fewer steps.
    if (this.#match(/[pP]\{[^{}]*\}/y) !== undefined) return anyUnit;
    const code = this.#match(/u\{([0-9a-fA-F]+)\}/y)?.[1];
    if (code !== undefined) {
      const unit = Number.parseInt(code, 16);
      return unit <= lastUnit ? one(unit) : halves;
    }
    const sign = this.#text.charAt(this.#at);
    const ranges = classes.get(sign);
    if (ranges === undefined) return one(this.#escapedUnit(sign, isInClass));
    this.#at += 1;
    return ranges;
  }

  #escapedUnit(sign: string, isInClass: boolean): number {
    const hex = this.#match(/x([0-9a-f]{2})|u([0-9a-f]{4})/iy);
    if (hex !== undefined) return Number.parseInt(hex[1] ?? hex[2] ?? '', 16);
    const octal = this.#match(/[0-3][0-7]{0,2}|[4-7][0-7]?/y)?.[0];
    if (octal !== undefined) return Number.parseInt(octal, 8);
    const letter = this.#match(isInClass ? /c(\w)/y : /c([a-z])/iy)?.[1];
    if (letter !== undefined) return letter.charCodeAt(0) % 32;
    // A c without a letter leaves the backslash as a character of its own.
    if (sign === 'c') return 92;
    const unit = this.#unit();
    if (isInClass && sign === 'b') return 8;
    return controls[sign] ?? unit;
  }

  #class(): readonly Range[] {
    const isNegated = this.#takes('^');
    const ranges: Range[] = [];
    while (!this.#takes(']')) {
      const from = this.#classAtom();
      const before = this.#at;
      if (this.#takes('-') && this.#text.charAt(this.#at) !== ']') {
        const to = this.#classAtom();
        const [low, high] = [from[0], to[0]];
        // A class such as \d at either end makes the hyphen a character.
        if (isUnit(from) && isUnit(to) && low !== undefined && high !== undefined) {
          ranges.push([low[0], high[0]]);
        } else {
          ranges.push(...from, [45, 45], ...to);
        }
      } else {
        this.#at = before;
        ranges.push(...from);
      }
    }
    return isNegated ? complement(ranges) : ranges;
  }

  #classAtom(): readonly Range[] {
    return this.#takes('\\') ? this.#escape(true) : one(this.#unit());
  }
}

function characters(ranges: readonly Range[]): PatternNode {
  return { kind: 'characters', ranges };
}

function one(unit: number): readonly Range[] {
  return [[unit, unit]];
}

function isUnit(ranges: readonly Range[]): boolean {
  return ranges.length === 1 && ranges[0]?.[0] === ranges[0]?.[1];
}

/** A group may be named by escapes in one place and by the characters themselves in another. */
function nameOf(text: string): string {
  return text.replace(/\\u(?:\{([0-9a-fA-F]+)\}|([0-9a-fA-F]{4}))/g, (_, point, unit) =>
    point === undefined
      ? String.fromCharCode(Number.parseInt(unit, 16))
      : String.fromCodePoint(Number.parseInt(point, 16)),
  );
}
