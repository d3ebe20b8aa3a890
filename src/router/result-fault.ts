import { escapePointer } from './schema/schema-tree.ts';

/** A result that can't be sent: the detail of a -32603. Its message is for the log, the caller gets a reference. */
export class ResultFault extends Error {
  override readonly name = 'ResultFault';
}

/** Thrown where a part of a result must not be sent. Its place is found later: looking for it costs too much before. */
export class RefusedPart extends Error {
  readonly part: object;
  readonly why: string;

  constructor(part: object, why: string) {
    super(why);
    this.part = part;
    this.why = why;
  }

  /** @param result what the handler returned */
  located(result: unknown): ResultFault {
    return faultAt(pathTo(result, (part) => part === this.part) ?? '', this.part, this.why);
  }
}

function faultAt(path: string, part: object, why: string): ResultFault {
  const place = path === '' ? 'the result' : `the result at ${path}`;
  return new ResultFault(`${place} is ${nameOf(part)}${why}`);
}

/**
 * Refuses a result of which JSON keeps nothing (a Map, a promise), or that it writes out byte by byte. Values are looked
 * at only where the text has a mark of such a loss.
 *
 * @param text has the JSON text of `result` from the character `start` on
 * @throws ResultFault
 */
export function assertKept(result: unknown, text: string, start: number): void {
  if (!isMarked(text, start)) return;
  let lost: object | undefined;
  const path = pathTo(result, (part) => {
    if (!isLost(part)) return false;
    lost = part;
    return true;
  });
  if (path !== undefined && lost !== undefined) throw faultAt(path, lost, lossText(lost));
}

/**
 * Whether a JSON text may hold what an object without members has become, or the bytes of a buffer: `{}`, `{"0":`,
 * `{"type":"Buffer"`. Three searches by indexOf for these take as long in a large text, and longer in a small one.
 */
function isMarked(text: string, start: number): boolean {
  for (let at = text.indexOf('{', start); at !== -1; at = text.indexOf('{', at + 1)) {
    const next = text.charCodeAt(at + 1);
    if (next === closing) return true;
    // Character codes: what a name begins with is looked at thousands of times.
    const first = next === quote ? text.charCodeAt(at + 2) : 0;
    if (first === zero && text.charCodeAt(at + 3) === quote) return true;
    if (first === letterT && text.startsWith('type":"Buffer"', at + 2)) return true;
  }
  return false;
}

const closing = '}'.charCodeAt(0);
const quote = '"'.charCodeAt(0);
const zero = '0'.charCodeAt(0);
const letterT = 't'.charCodeAt(0);

/** Whether JSON keeps nothing of an object, though it is more than `{}`. */
export function isLost(part: object): boolean {
  if (ArrayBuffer.isView(part)) return true;
  if (Array.isArray(part) || isPlain(part) || hasToJson(part)) return false;
  return Object.keys(part).length === 0;
}

/** Also an object of another realm is plain: its prototype is the one that has none. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null || prototype === Object.prototype) return true;
  return (
    Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype as object, 'toString')
  );
}

const advice: Readonly<Record<string, string>> = {
  Map: 'return Object.fromEntries(map), or an array of its entries',
  Set: 'return an array: [...set]',
  Promise: 'await it',
  Response: 'return what await response.json() gives',
  ReadableStream: 'collect it first',
  Blob: 'return its bytes, and declare Type.Base64()',
  Error: 'throw it, or return its message',
  RegExp: 'return its source',
};

/** What is wrong with a part that {@link isLost}. */
export function lossText(part: object): string {
  if (ArrayBuffer.isView(part) || part instanceof ArrayBuffer)
    return ', which JSON writes out byte by byte: declare Type.Base64() in returns';
  const kind = part instanceof Error ? 'Error' : className(part);
  const hint = Object.hasOwn(advice, kind) ? advice[kind] : 'return a plain object';
  return `, of which JSON keeps nothing: ${hint}`;
}

function nameOf(part: object): string {
  if (Array.isArray(part)) return 'an array';
  const name = className(part);
  if (name === 'Object' || name === '') return 'an object';
  return `${/^[AEIO]/.test(name) ? 'an' : 'a'} ${name.slice(0, 64)}`;
}

function className(part: object): string {
  try {
    const name: unknown = (part.constructor as { name?: unknown } | undefined)?.name;
    return typeof name === 'string' ? name : '';
  } catch {
    return '';
  }
}

function hasToJson(value: object): value is { toJSON(key: string): unknown } {
  return typeof (value as { toJSON?: unknown }).toJSON === 'function';
}

/** Most parts that are looked at: the log line then has no place. */
const maxParts = 1_000_000;
const maxSegment = 64;

/** The JSON Pointer to the first part that is `wanted`; undefined: none was found. */
function pathTo(root: unknown, wanted: (part: object) => boolean): string | undefined {
  const open: { readonly value: unknown; readonly path: string }[] = [{ value: root, path: '' }];
  const known = new Set<object>();
  for (let next = open.pop(); next !== undefined && known.size < maxParts; next = open.pop()) {
    let { value } = next;
    if (typeof value !== 'object' || value === null || known.has(value)) continue;
    known.add(value);
    if (wanted(value)) return next.path;
    if (hasToJson(value)) value = value.toJSON('');
    if (typeof value !== 'object' || value === null) continue;
    if (value !== next.value && wanted(value)) return next.path;
    for (const [name, member] of Object.entries(value).reverse()) {
      if (typeof member !== 'object' || member === null) continue;
      const segment = name.length > maxSegment ? `${name.slice(0, maxSegment)}…` : name;
      open.push({ value: member, path: `${next.path}/${escapePointer(segment)}` });
    }
  }
  return undefined;
}
