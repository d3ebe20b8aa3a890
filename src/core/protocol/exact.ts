import {
  type Body,
  type Envelope,
  emptyBatch,
  type InvalidEnvelope,
  invalidEnvelope,
  invalidParams,
  maxMembers,
  maxNameLength,
  type ReadLimits,
  tooLongBatch,
  unreadableBody,
  verified,
} from './body.ts';
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  endOfMemberName,
  endOfValue,
  isString,
  NINE,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  SMALL_N,
  skipBlanks,
  UnitBuffer,
  type Units,
} from './syntax.ts';

const version = '2.0';
/** `\uXXXX` is the longest way to write a character, in units. */
const maxEscapeLength = '\\u0000'.length;

/** A text to read: its units, and the text of any of them. */
export interface Readable {
  /** Units behind `length` do not belong to the text. */
  readonly units: Units;
  readonly length: number;
  textOf(start: number, end: number): string;
}

const buffer = new UnitBuffer();

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

/** The members of a request that the protocol defines. */
const memberNames = ['id', 'method', 'params', 'jsonrpc'] as const;

type FoundMembers = Readonly<Record<(typeof memberNames)[number], FoundMember>>;

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
    const opening = this.#at++;
    this.#skip();
    if (this.#take(CLOSE_BRACE)) return invalidEnvelope('null');
    for (let count = 1; ; count++) {
      if (count > maxMembers) {
        // It is invalid in any case, but must be JSON.
        this.#at = endOfValue(this.#units, opening, this.#length, maxDepth + 1);
        return this.#at === -1 ? undefined : invalidEnvelope('null');
      }
      this.#skip();
      const name = this.#at;
      const start = endOfMemberName(this.#units, name, this.#length);
      if (start === -1) return undefined;
      const end = endOfValue(this.#units, start, this.#length, maxDepth);
      if (end === -1) return undefined;
      const known = nameAt(this.#units, name, memberNames);
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

  #envelope({ jsonrpc, id, method, params }: FoundMembers): Envelope | InvalidEnvelope {
    const idText = this.#idText(id);
    const name = this.#stringAt(method, maxNameLength);
    const isValid =
      (id.start === -1 || idText !== undefined) &&
      this.#isVersion(jsonrpc) &&
      !(method.isRepeated || params.isRepeated);
    if (!isValid || name === undefined || name === '') return invalidEnvelope(idText ?? 'null');
    if (params.start !== -1 && !this.#opens(params)) return invalidParams(idText);
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
  #stringAt(member: FoundMember, longest: number): string | undefined {
    const text = stringAt(this.#body, member, 2 + longest * maxEscapeLength);
    return text !== undefined && text.length <= longest ? text : undefined;
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

/** The value of a member stands from `start` to `end`. */
export interface MemberPlace {
  readonly start: number;
  readonly end: number;
}

/**
 * Where the members of an object stand that have one of the names. Their values are not parsed: one may be megabytes.
 *
 * @param start of an object that is known to be valid JSON
 * @param names without characters that JSON must escape
 * @returns undefined where one of the names stands twice: two readers could take different ones
 */
export function membersAt<Name extends string>(
  readable: Readable,
  start: number,
  end: number,
  names: readonly Name[],
): Partial<Record<Name, MemberPlace>> | undefined {
  const { units } = readable;
  const found: Partial<Record<Name, MemberPlace>> = {};
  let at = skipBlanks(units, start + 1, end);
  while (units[at] !== CLOSE_BRACE) {
    const name = nameAt(units, at, names);
    const valueStart = endOfMemberName(units, at, end);
    const valueEnd = endOfValue(units, valueStart, end, Number.POSITIVE_INFINITY);
    if (name !== undefined) {
      if (found[name] !== undefined) return undefined;
      found[name] = { start: valueStart, end: valueEnd };
    }
    at = skipBlanks(units, valueEnd, end);
    if (units[at] === COMMA) at = skipBlanks(units, at + 1, end);
  }
  return found;
}

/** Which of the names the string at `start` is, which is known to be valid; undefined: none of them. */
function nameAt<Name extends string>(
  units: Units,
  start: number,
  names: readonly Name[],
): Name | undefined {
  for (const name of names) if (isString(units, start, name)) return name;
  return undefined;
}

/** The string at a place; undefined: the value is none, or is written longer than `longest` units. */
export function stringAt(
  readable: Readable,
  place: MemberPlace | undefined,
  longest: number,
): string | undefined {
  if (place === undefined || readable.units[place.start] !== QUOTE) return undefined;
  if (place.end - place.start > longest) return undefined;
  const written = readable.textOf(place.start, place.end);
  return written.includes('\\') ? (JSON.parse(written) as string) : written.slice(1, -1);
}
