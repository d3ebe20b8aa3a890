import { cached } from '../base/cached.ts';
import { withArticle } from '../base/text.ts';
import { holdsParts, isPlain } from '../base/value-kinds.ts';
import { type Outcome, resultOutcome, resultReply } from '../protocol/reply.ts';
import { shownSegment } from './pointer.ts';

/**
 * The outcome of a value of which nothing is declared. Its text is searched, for which V8 copies the pieces that
 * JSON.stringify has made into one. So the reply is joined first: it has to be in one piece sooner or later.
 *
 * @param id JSON text of the request's id, undefined for a notification
 * @param onAccessors is told of the first part whose class has accessors, which JSON leaves out; undefined: nobody looks
 * @throws ResultFault for a part of which JSON keeps nothing, or that it can't hold
 */
export function keptOutcome(
  value: unknown,
  id: string | undefined,
  onAccessors?: (detail: string) => void,
): Outcome {
  const text = toJson(value);
  if (typeof value !== 'object' || value === null) return resultOutcome(text);
  if (id === undefined) {
    assertKept(value, text, 0, onAccessors);
    return resultOutcome(text);
  }
  const reply = resultReply(id, text);
  assertKept(value, reply, reply.length - text.length - 1, onAccessors);
  return { ok: true, code: 0, text, reply };
}

/** A procedure that returns nothing answers null. */
export function toJson(result: unknown): string {
  return result === undefined ? 'null' : jsonText(result, 'the result');
}

/** @throws ResultFault that names the part which JSON cannot hold; whatever a `toJSON` throws */
export function jsonText(value: unknown, what: string): string {
  if (typeof value === 'number') {
    if (Number.isFinite(value)) return String(value);
    throw new ResultFault(`${what} is ${value}, which JSON cannot hold`);
  }
  let text: string | undefined;
  try {
    text = JSON.stringify(value) as string | undefined;
  } catch (error) {
    throw (error instanceof TypeError ? unwritableFault(value, what) : undefined) ?? error;
  }
  if (text === undefined) {
    const kind =
      typeof value === 'object' ? 'an object whose toJSON gives nothing' : `a ${typeof value}`;
    throw new ResultFault(`${what} is ${kind}, which JSON cannot hold`);
  }
  return text;
}

/** A result that can't be sent: the detail of a -32603. Its message is for the log, the caller gets a reference. */
export class ResultFault extends Error {
  override readonly name = 'ResultFault';
}

/** Thrown if a part of a result must not be sent. Its place is found later: looking for it costs too much before. */
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
    let path = '';
    try {
      path = find(result, (part) => part === this.part, new Set())?.path ?? '';
    } catch {
      // Parts that nothing declares nest too deep, or a getter throws: the log line has no place.
    }
    return faultAt(path, this.part, this.why);
  }
}

function faultAt(path: string, part: object, why: string): ResultFault {
  const place = path === '' ? 'the result' : `the result at ${path}`;
  return new ResultFault(`${place} is ${nameOf(part)}${why}`);
}

/**
 * Refuses a result of which JSON keeps nothing (a Map, a promise), or that it writes out byte by byte. Looks for these
 * only if the text has a mark of such a loss.
 *
 * @param text has the JSON text of `result` from the character `start` on
 * @throws ResultFault
 */
function assertKept(
  result: object,
  text: string,
  start: number,
  onAccessors?: (detail: string) => void,
): void {
  const lostPart = isMarked(text, start) ? isLost : undefined;
  const wanted =
    onAccessors === undefined ? lostPart : lostPart === undefined ? hasAccessors : isLessened;
  const found = wanted && find(result, wanted);
  if (found === undefined) return;
  const { path, part } = found;
  if (lostPart?.(part)) throw faultAt(path, part, lossText(part));
  // What lacks accessors may come before what is lost.
  assertKept(result, text, start);
  onAccessors?.(faultAt(path, part, accessorsText(part)).message);
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
  if (isPlainOrArray(part)) return false;
  return ArrayBuffer.isView(part) || (!hasToJson(part) && Object.keys(part).length === 0);
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

function hasAccessors(part: object): boolean {
  return accessorsOf(part).length > 0;
}

function isLessened(part: object): boolean {
  // Nearly all parts are of no class.
  return !isPlainOrArray(part) && (isLost(part) || hasAccessors(part));
}

function accessorsText(part: object): string {
  const names = accessorsOf(part);
  const shown = `${names.slice(0, 5).join(', ')}${names.length > 5 ? ', ...' : ''}`;
  return `, and JSON leaves out its accessors (${shown}): return a plain object, or give the class a toJSON()`;
}

/** The names of the accessors that an object has from its classes and not of its own. */
function accessorsOf(part: object): readonly string[] {
  if (isPlainOrArray(part) || hasToJson(part)) return [];
  const names = accessorsOfClass(Object.getPrototypeOf(part) as object);
  return names.filter((name) => !Object.hasOwn(part, name));
}

/** By prototype: a result may have thousands of objects of one class. */
const classAccessors = new WeakMap<object, readonly string[]>();

function accessorsOfClass(prototype: object): readonly string[] {
  return cached(classAccessors, prototype, () => {
    const outer = Object.getPrototypeOf(prototype) as object | null;
    // The last is Object.prototype of some realm.
    if (outer === null) return [];
    const own = Object.entries(Object.getOwnPropertyDescriptors(prototype))
      .filter(([, member]) => member.get !== undefined)
      .map(([name]) => name);
    return [...new Set([...own, ...accessorsOfClass(outer)])];
  });
}

function nameOf(part: object): string {
  if (Array.isArray(part)) return 'an array';
  const name = className(part);
  if (name === 'Object' || name === '') return 'an object';
  return withArticle(name.slice(0, 64));
}

function className(part: object): string {
  try {
    const name: unknown = (part.constructor as { name?: unknown } | undefined)?.name;
    return typeof name === 'string' ? name : '';
  } catch {
    return '';
  }
}

function isPlainOrArray(part: object): boolean {
  return Array.isArray(part) || isPlain(part);
}

function hasToJson(value: object): value is { toJSON(key: string): unknown } {
  return typeof (value as { toJSON?: unknown }).toJSON === 'function';
}

/**
 * Names the BigInt, or the object within itself, that JSON.stringify refused: its own message has no path of a BigInt.
 * Looks at the parts in the order of JSON.stringify.
 *
 * @param what the value in the message, such as `the result`
 * @param ignoresBigInts looks for an object within itself alone
 * @returns undefined if it refuses something else, or if there are too many parts to look at
 */
export function unwritableFault(
  value: unknown,
  what: string,
  ignoresBigInts = false,
): ResultFault | undefined {
  /** The objects around the part that is looked at, and by which name each of them holds the next. */
  const around: object[] = [];
  const names: string[] = [];
  let parts = 0;
  const placeOf = (depth: number): string =>
    depth === 0 ? what : `${what} at ${names.slice(0, depth).map(shownSegment).join('')}`;
  const look = (given: unknown, name: string): string | undefined => {
    if (parts++ > maxParts) throw new Error('the search ends');
    const { toJSON } = Object(given) as { toJSON?: unknown };
    const part: unknown = typeof toJSON === 'function' ? toJSON.call(given, name) : given;
    if (typeof part === 'bigint' && !ignoresBigInts)
      return `${placeOf(names.length)} is a BigInt, which JSON cannot hold: return a string`;
    if (typeof part !== 'object' || part === null) return undefined;
    const outer = around.indexOf(part);
    if (outer !== -1)
      return `${placeOf(names.length)} is circular: it is ${placeOf(outer)} again, which JSON cannot hold`;
    around.push(part);
    for (const [key, member] of Object.entries(part)) {
      names.push(key);
      const fault = look(member, key);
      if (fault !== undefined) return fault;
      names.pop();
    }
    around.pop();
    return undefined;
  };
  try {
    const fault = look(value, '');
    return fault === undefined ? undefined : new ResultFault(fault);
  } catch {
    return undefined;
  }
}

/** Most parts that are looked at: the log line then has no place. */
const maxParts = 1_000_000;

/**
 * The first part that is `wanted`, with its JSON Pointer; undefined: there is none. The path is put together on the way back
 * from the part: a path for each part takes many times what JSON.stringify takes, and gigabytes.
 *
 * @param known the parts that were looked at, for a value that JSON.stringify has not shown to be finite
 */
function find(
  value: unknown,
  wanted: (part: object) => boolean,
  known?: Set<object>,
): { readonly path: string; readonly part: object } | undefined {
  if (!holdsParts(value)) return undefined;
  if (known !== undefined) {
    if (known.has(value) || known.size >= maxParts) return undefined;
    known.add(value);
  }
  if (wanted(value)) return { path: '', part: value };
  let part = value;
  if (hasToJson(value)) {
    const stated = value.toJSON('');
    if (!holdsParts(stated)) return undefined;
    if (stated !== value && wanted(stated)) return { path: '', part: stated };
    part = stated;
  }
  if (Array.isArray(part)) {
    for (let index = 0; index < part.length; index++) {
      const member: unknown = part[index];
      const found = holdsParts(member) ? find(member, wanted, known) : undefined;
      if (found !== undefined) return { ...found, path: `/${index}${found.path}` };
    }
    return undefined;
  }
  for (const name in part) {
    const member = (part as Readonly<Record<string, unknown>>)[name];
    if (!holdsParts(member) || !hasOwn.call(part, name)) continue;
    const found = find(member, wanted, known);
    if (found !== undefined) return { ...found, path: shownSegment(name) + found.path };
  }
  return undefined;
}

// In a loop over names V8 leaves out this call, and not that of Object.hasOwn.
const hasOwn = Reflect.get(Object.prototype, 'hasOwnProperty') as (
  this: object,
  name: string,
) => boolean;
