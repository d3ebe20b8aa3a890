import { type Body, emptyBatch, type ReadLimits, tooLongBatch, unreadableBody } from '../body.ts';
import { CodeBuffer } from '../codes.ts';
import {
  type Envelope,
  type InvalidEnvelope,
  invalidEnvelope,
  maxMembers,
  maxNameLength,
  verified,
} from '../envelope.ts';
import { type MemberName, memberName } from './member-name.ts';
import { endOfObject, endOfString, endOfValue, skipBlanks, type Units } from './syntax.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const NINE = 0x39;
const SMALL_N = 0x6e;

const version = '2.0';
const longestEscape = '\\u0000'.length;

/** A text to read: its units, and the text of any of them. */
export interface Readable {
  /** Units behind `length` do not belong to the text. */
  readonly units: Units;
  readonly length: number;
  textOf(start: number, end: number): string;
}

const buffer = new CodeBuffer();

/** @returns a Readable that is valid until the next call */
export function readableText(text: string): Readable {
  return {
    units: buffer.write(text),
    length: text.length,
    textOf: (start, end) => text.slice(start, end),
  };
}

/** @param bytes valid UTF-8: the caller has checked that */
export function readableBytes(bytes: Uint8Array): Readable {
  const units = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return {
    units: bytes,
    length: bytes.byteLength,
    textOf: (start, end) => units.toString('utf8', start, end),
  };
}

/**
 * The exact reader of a whole body. It alone decides which bodies are refused, and with which error. It looks at
 * each unit of the body once or twice, and parses only ids and methods with escapes. Afterwards the params are known
 * to be JSON, and still stand unparsed in the body. Of a batch longer than `maxBatch` it reads only the first
 * `maxBatch` entries.
 */
export function readExactly(body: Readable, limits: ReadLimits): Body {
  return new ExactReader(body, limits).read();
}

/** Where the value of a member stands; `start` -1: the request has no such member. */
interface FoundMember {
  start: number;
  end: number;
  isRepeated: boolean;
}

type FoundMembers = Readonly<Record<MemberName, FoundMember>>;

const none = (): FoundMember => ({ start: -1, end: -1, isRepeated: false });

class ExactReader {
  readonly #body: Readable;
  readonly #units: Units;
  readonly #length: number;
  readonly #limits: ReadLimits;
  #at = 0;

  constructor(body: Readable, limits: ReadLimits) {
    this.#body = body;
    this.#units = body.units;
    this.#length = body.length;
    this.#limits = limits;
  }

  read(): Body {
    const { maxDepth } = this.#limits;
    this.#skip();
    if (this.#take(OPEN_BRACKET)) return this.#batch(maxDepth - 1);
    const entry = this.#entry(maxDepth);
    return entry !== undefined && this.#isDone() ? { kind: 'single', entry } : unreadableBody();
  }

  #batch(maxDepth: number): Body {
    const { maxBatch } = this.#limits;
    const entries: (Envelope | InvalidEnvelope)[] = [];
    this.#skip();
    if (this.#take(CLOSE_BRACKET)) return this.#isDone() ? emptyBatch() : unreadableBody();
    do {
      if (entries.length === maxBatch) return tooLongBatch(maxBatch);
      this.#skip();
      const entry = this.#entry(maxDepth);
      if (entry === undefined) return unreadableBody();
      entries.push(entry);
      this.#skip();
    } while (this.#take(COMMA));
    const isWhole = this.#take(CLOSE_BRACKET) && this.#isDone();
    return isWhole ? { kind: 'batch', entries } : unreadableBody();
  }

  /** undefined: the entry is not JSON, or nests too deep. */
  #entry(maxDepth: number): Envelope | InvalidEnvelope | undefined {
    if (this.#units[this.#at] === OPEN_BRACE) return this.#request(maxDepth - 1);
    this.#at = endOfValue(this.#units, this.#at, this.#length, maxDepth);
    return this.#at === -1 ? undefined : invalidEnvelope('null');
  }

  /** @param maxDepth most levels of a member's value */
  #request(maxDepth: number): Envelope | InvalidEnvelope | undefined {
    if (maxDepth < 0) return undefined;
    const places: FoundMembers = { jsonrpc: none(), id: none(), method: none(), params: none() };
    this.#at++;
    this.#skip();
    if (this.#take(CLOSE_BRACE)) return invalidEnvelope('null');
    for (let count = 1; ; count++) {
      if (count > maxMembers) return this.#tooManyMembers(maxDepth + 1);
      this.#skip();
      const name = this.#at;
      if (this.#units[name] !== QUOTE) return undefined;
      const nameEnd = endOfString(this.#units, name, this.#length);
      if (nameEnd === -1) return undefined;
      this.#at = nameEnd;
      this.#skip();
      if (!this.#take(COLON)) return undefined;
      this.#skip();
      const start = this.#at;
      const end = endOfValue(this.#units, start, this.#length, maxDepth);
      if (end === -1) return undefined;
      const known = memberName(this.#units, name + 1, nameEnd - 1);
      if (known !== undefined) {
        const place = places[known];
        place.isRepeated = place.start !== -1;
        place.start = start;
        place.end = end;
      }
      this.#at = end;
      this.#skip();
      if (!this.#take(COMMA)) break;
    }
    if (!this.#take(CLOSE_BRACE)) return undefined;
    return this.#envelope(places);
  }

  /** Checks that the rest of the request is JSON. */
  #tooManyMembers(maxDepth: number): InvalidEnvelope | undefined {
    this.#at = endOfObject(this.#units, this.#at, this.#length, maxDepth);
    return this.#at === -1 ? undefined : invalidEnvelope('null');
  }

  #envelope({ jsonrpc, id, method, params }: FoundMembers): Envelope | InvalidEnvelope {
    const idText = this.#idText(id);
    const name = this.#stringAt(method, maxNameLength);
    const isValid =
      (id.start === -1 || idText !== undefined) &&
      this.#isVersion(jsonrpc) &&
      !(method.isRepeated || params.isRepeated) &&
      (params.start === -1 || this.#opens(params));
    if (!isValid || name === undefined || name === '') return invalidEnvelope(idText ?? 'null');
    return {
      method: name,
      id: idText,
      params: params.start === -1 ? undefined : verified,
      paramsStart: params.start,
      paramsEnd: params.end,
    };
  }

  /** The id as it was written; undefined: there is none, or it is invalid. */
  #idText(id: FoundMember): string | undefined {
    if (id.start === -1 || id.isRepeated) return undefined;
    const first = this.#units[id.start] as number;
    // A number begins with a digit or a minus. Letters and brackets have larger codes, the quote a smaller one.
    const isNumber = first <= NINE && first !== QUOTE;
    const isId = isNumber
      ? id.end - id.start <= maxNameLength
      : first === SMALL_N || this.#stringAt(id, maxNameLength) !== undefined;
    return isId ? this.#body.textOf(id.start, id.end) : undefined;
  }

  #isVersion(jsonrpc: FoundMember): boolean {
    if (jsonrpc.start === -1) return !this.#limits.strict;
    return !jsonrpc.isRepeated && this.#stringAt(jsonrpc, version.length) === version;
  }

  /** The string at that place; undefined: the value is no string, or longer than `longest` characters. */
  #stringAt({ start, end }: FoundMember, longest: number): string | undefined {
    if (this.#units[start] !== QUOTE) return undefined;
    // `\uXXXX` is the longest way to write a character.
    if (end - start > 2 + longest * longestEscape) return undefined;
    const written = this.#body.textOf(start, end);
    const text = written.includes('\\') ? (JSON.parse(written) as string) : written.slice(1, -1);
    return text.length <= longest ? text : undefined;
  }

  #opens({ start }: FoundMember): boolean {
    const first = this.#units[start];
    return first === OPEN_BRACE || first === OPEN_BRACKET;
  }

  #skip(): void {
    this.#at = skipBlanks(this.#units, this.#at, this.#length);
  }

  #take(unit: number): boolean {
    if (this.#at >= this.#length || this.#units[this.#at] !== unit) return false;
    this.#at++;
    return true;
  }

  #isDone(): boolean {
    this.#skip();
    return this.#at === this.#length;
  }
}
