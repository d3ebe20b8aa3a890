import { isIP } from 'node:net';
import { maxDelayMs } from '../base/timer.ts';

/** A type of option: how it reads a value from text, checks it and writes it. */
export interface Kind<T> {
  /** The placeholder of the value in the help (`--port <number>`); undefined: an on/off switch. */
  readonly placeholder: string | undefined;
  /** What is allowed, as text to follow "expected". */
  readonly allowed: string;
  /** Whether `--no-x` is a flag too, though `--x` takes a value. */
  readonly hasNo?: boolean;
  readonly repeatable?: true;
  /** Reads the text of a flag or an environment variable. The value is not checked yet. */
  readonly fromText: (text: string) => unknown;
  /** The value in the form that the configuration holds; undefined: the value is not allowed. */
  readonly check: (value: unknown) => T | undefined;
  /** Which part of a value of several parts is not allowed. Without it the message shows the whole. */
  readonly faultOf?: (value: unknown) => Fault | undefined;
  /** Writes a value as a flag takes it. */
  readonly toText: (value: never) => string;
}

export interface Fault {
  /** Which part, as text to follow "expected". */
  readonly where: string;
  readonly allowed: string;
  readonly given: unknown;
  /** The name that was probably meant. */
  readonly near?: string | undefined;
}

/** A kind of one value, whose text is the value itself. */
const plainText = {
  fromText: (text: string): string => text.trim(),
  toText: String,
};

/** A text whose word for the empty one is `none`. */
const noneOrText = {
  fromText: (text: string): string => (text.trim() === 'none' ? '' : text.trim()),
  toText: (text: string): string => text || 'none',
};

export function oneOf<const T extends string>(...values: readonly T[]): Kind<T> {
  return {
    ...plainText,
    placeholder: values.join('|'),
    allowed: values.join(', '),
    check: (value) => values.find((allowed) => allowed === value),
  };
}

const switchWords: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  on: true,
  '1': true,
  false: false,
  no: false,
  off: false,
  '0': false,
};

export function onOff(): Kind<boolean> {
  return {
    ...plainText,
    placeholder: undefined,
    allowed: 'true or false',
    fromText: (text) => {
      const word = text.trim().toLowerCase();
      return Object.hasOwn(switchWords, word) ? switchWords[word] : text;
    },
    check: (value) => (typeof value === 'boolean' ? value : undefined),
  };
}

/** `oneOf` that also takes true and false, and the flag `--no-x` for false. */
export function switchOrOneOf<const T extends string>(
  on: T,
  off: T,
  ...others: readonly T[]
): Kind<T> {
  const words = oneOf(on, ...others, off);
  const ofSwitch = (value: unknown): unknown =>
    typeof value === 'boolean' ? (value ? on : off) : value;
  return {
    ...words,
    allowed: `${words.allowed}, true (${on}) or false (${off})`,
    hasNo: true,
    fromText: (text) => {
      const word = text.trim().toLowerCase();
      return word !== off && Object.hasOwn(switchWords, word) ? switchWords[word] : word;
    },
    check: (value) => words.check(ofSwitch(value)),
  };
}

export function text(placeholder: string, allowed: string, shape: RegExp): Kind<string> {
  return {
    ...plainText,
    placeholder,
    allowed,
    check: (value) => (typeof value === 'string' && shape.test(value) ? value : undefined),
  };
}

/** A text, or the word `none` for the empty one. */
export function textOrNone(placeholder: string, allowed: string, shape: RegExp): Kind<string> {
  const given = text(placeholder, `none, or ${allowed}`, shape);
  return {
    ...given,
    ...noneOrText,
    check: (value) => (value === '' ? value : given.check(value)),
  };
}

/** The path of a file. The empty text and the word `none` mean no file. */
export function file(what: 'file' | 'folder' = 'file'): Kind<string> {
  return {
    placeholder: what,
    allowed: `the path of a ${what}, or none`,
    ...noneOrText,
    check: (value) => (typeof value === 'string' && !/\p{Cc}/u.test(value) ? value : undefined),
  };
}

interface Range {
  readonly min: number;
  readonly max: number;
  /** Also allows 0, which means "none" or "never". */
  readonly orZero?: boolean;
}

function inRange(value: unknown, { min, max, orZero }: Range): number | undefined {
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) return undefined;
  return (value >= min && value <= max) || (orZero === true && value === 0) ? value : undefined;
}

/** A number times its unit. Any other text is returned as it is, and `check` refuses it. */
function readAmount(text: string, units: Readonly<Record<string, number>>): unknown {
  const match = /^(\d+(?:\.\d+)?) ?([a-z]*)$/.exec(text.trim().toLowerCase());
  const factor = match === null ? undefined : units[match[2] ?? ''];
  return match === null || factor === undefined ? text : Number(match[1]) * factor;
}

function rangeText(range: Range, show: (value: number) => string = String): string {
  const span = `${show(range.min)} to ${show(range.max)}`;
  return range.orZero === true ? `0 or ${span}` : span;
}

/** A number in a range. Text may have one of these units. */
function amount(
  placeholder: string,
  allowed: string,
  range: Range,
  units: Readonly<Record<string, number>>,
  toText: (value: number) => string = String,
): Kind<number> {
  return {
    placeholder,
    allowed,
    fromText: (given) => readAmount(given, units),
    check: (value) => inRange(value, range),
    toText,
  };
}

export function integer(range: Range, placeholder = 'number'): Kind<number> {
  return amount(placeholder, `a whole number, ${rangeText(range)}`, range, { '': 1 });
}

/** A port, or a word instead of it. */
export function portOr<const Word extends string>(word: Word): Kind<number | Word> {
  const port = integer({ min: 0, max: 65535 });
  return {
    ...port,
    allowed: `${word}, or ${port.allowed}`,
    fromText: (given) => (given.trim() === word ? word : port.fromText(given)),
    check: (value) => (value === word ? word : port.check(value)),
  };
}

/** Milliseconds. Text may have a unit: 500ms, 30s, 5m. */
export function duration(min: number, { orZero = false, max = maxDelayMs } = {}): Kind<number> {
  const range = { min, max, orZero };
  const allowed = `milliseconds, ${rangeText(range)} (a flag or variable also takes 500ms, 30s, 5m)`;
  return amount('ms', allowed, range, { '': 1, ms: 1, s: 1000, m: 60_000 });
}

const byteUnits = {
  '': 1,
  b: 1,
  kb: 1024,
  kib: 1024,
  mb: 1024 ** 2,
  mib: 1024 ** 2,
  gb: 1024 ** 3,
  gib: 1024 ** 3,
};

function showBytes(bytes: number): string {
  if (bytes > 0 && bytes % byteUnits.mb === 0) return `${bytes / byteUnits.mb}mb`;
  return bytes > 0 && bytes % byteUnits.kb === 0 ? `${bytes / byteUnits.kb}kb` : String(bytes);
}

/** Bytes. Text may have a unit, a power of 1024: 512kb, 10mb. */
export function bytes(range: Range): Kind<number> {
  const allowed = `bytes, ${rangeText(range, showBytes)} (a flag or variable also takes 512kb, 10mb)`;
  return amount('bytes', allowed, range, byteUnits, showBytes);
}

/** Permissions of a file, as `chmod` takes them. */
export function fileMode(): Kind<number> {
  const range = { min: 0, max: 0o777 };
  return {
    placeholder: 'octal',
    allowed: 'octal digits as for chmod, 0 to 777 (in code a number: 0o660)',
    fromText: (text) => (/^[0-7]{1,4}$/.test(text.trim()) ? Number.parseInt(text, 8) : text),
    check: (value) => inRange(value, range),
    toText: (value: number) => value.toString(8).padStart(3, '0'),
  };
}

export function splitList(list: string): string[] {
  return list
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}

type EntryRule = RegExp | ((entry: string) => boolean);

function isWord(value: unknown, word: string): boolean {
  return value === word || (Array.isArray(value) && value.length === 1 && value[0] === word);
}

/**
 * A list of texts.
 *
 * @param empty the word that is the empty list; undefined: a list has at least one entry
 * @param isEntry whether an entry is right; a shape: whether it matches
 * @param normalise gives an entry in the form that the configuration holds
 */
function list(
  placeholder: string,
  allowed: string,
  empty: string | undefined,
  isEntry: EntryRule,
  normalise: (entry: string) => string = String,
): Kind<readonly string[]> {
  const isRight = isEntry instanceof RegExp ? (one: string) => isEntry.test(one) : isEntry;
  return {
    placeholder,
    allowed,
    repeatable: true,
    fromText: splitList,
    check: (value) => {
      if (empty !== undefined && isWord(value, empty)) return Object.freeze([]);
      const given: unknown = typeof value === 'string' ? [value] : value;
      if (!Array.isArray(given) || (given.length === 0 && empty === undefined)) return undefined;
      const texts = given.filter((entry): entry is string => typeof entry === 'string');
      const entries = texts.map(normalise);
      const areRight = entries.length === given.length && entries.every(isRight);
      return areRight ? Object.freeze([...new Set(entries)]) : undefined;
    },
    toText: (value: readonly string[]) => value.join(',') || (empty ?? ''),
  };
}

/** A list for which `none` and the empty text are the empty list. */
function listOrEmpty(
  placeholder: string,
  allowed: string,
  isEntry: EntryRule,
): Kind<readonly string[]> {
  const texts = list(placeholder, allowed, 'none', isEntry);
  return { ...texts, check: (value) => texts.check(value === '' ? [] : value) };
}

const lowerCase = (entry: string): string => entry.toLowerCase();

/** Header names. The configuration holds them in lower case. */
export function headerNames(): Kind<readonly string[]> {
  // The grammar of HTTP allows a header named *, but whoever writes that means all headers.
  const token = /^(?!\*$)[!#$%&'*+.^_`|~0-9a-z-]+$/i;
  const allowed = 'none, or header names, separated by commas, without *';
  return list('names', allowed, 'none', token, lowerCase);
}

/** Hosts as in a Host header. The configuration holds them in lower case. */
export function hosts(): Kind<readonly string[]> {
  // What URL parsers leave unchanged: a name, an IPv4 address or an IPv6 address in brackets, and perhaps a port.
  const host = /^(?:\[[0-9a-f:.]{2,45}\]|[a-z0-9_](?:[a-z0-9_.-]{0,253}[a-z0-9_])?)(?::\d{1,5})?$/;
  const allowed = 'none, or hosts like example.com, 127.0.0.1:8000, [::1], separated by commas';
  return list('hosts', allowed, 'none', host, lowerCase);
}

/** Names of procedures, in which a star stands for any characters. */
export function procedurePatterns(): Kind<readonly string[]> {
  const allowed = 'all, or names of procedures like math.add, math.*, separated by commas';
  return list('names', allowed, 'all', /^[A-Za-z_*][\w\-./:*]{0,255}$/);
}

/** Addresses and networks of them, `10.0.0.0/8`, and the word `unix`. */
export function addresses(): Kind<readonly string[]> {
  const allowed =
    'none, or addresses and networks like 127.0.0.1, 10.0.0.0/8, fd00::/8, and unix, separated by commas';
  return list('addresses', allowed, 'none', isNetwork);
}

function isNetwork(entry: string): boolean {
  if (entry === 'unix') return true;
  if (!/^[\da-f:.]+(?:\/\d{1,3})?$/i.test(entry)) return false;
  const [address = '', prefix = '0'] = entry.split('/');
  const bits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  return Number(prefix) <= bits;
}

/** `*`, or a list of origins as browsers send them. */
export function origins(): Kind<'*' | readonly string[]> {
  // No path and no trailing slash: an entry must equal the Origin header exactly.
  const origin = /^[a-z][a-z0-9+.-]*:\/\/[\x21-\x2b\x2d\x2e\x30-\x3e\x40-\x5b\x5d-\x7e]+$/;
  const allowed =
    '*, none, or origins like https://app.example.com (lower case, no path, no final /)';
  const texts = list('origins', allowed, 'none', origin);
  return {
    ...texts,
    check: (value) => (isWord(value, '*') ? '*' : texts.check(value)),
    toText: (value: '*' | readonly string[]) => (value === '*' ? value : value.join(',') || 'none'),
  };
}

/** The credentials of a server's URL, which no message may show. */
const secret = /\/\/[^@/]*@/;

const withoutSecret = (given: unknown): unknown =>
  typeof given === 'string' ? given.replace(secret, '//***@') : given;

const listed = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? value : [value === '' ? [] : value].flat();

/**
 * An absolute URL that identifies something, and so is compared as it is written: without credentials, a query or a fragment. It
 * consists of what may stand in a header.
 */
function isIdentifier(entry: string): boolean {
  return (
    /^https?:\/\/[A-Za-z0-9._~%:[\]-]+(?:\/[A-Za-z0-9._~!$&'()*+;=:@%/-]*)?$/.test(entry) &&
    URL.canParse(entry)
  );
}

/** URLs that identify something. The word `none` is the empty list. */
export function identifiers(): Kind<readonly string[]> {
  const allowed =
    'none, or http and https URLs like https://auth.example.com, without a name and password, a query or a fragment, separated by commas';
  return urls(allowed, isIdentifier, 'the value');
}

/** Scopes of OAuth (RFC 6749, 3.3), without commas, which separate them here. */
export function scopes(): Kind<readonly string[]> {
  const allowed = 'none, or scopes like notes:read, without spaces, separated by commas';
  return list('scopes', allowed, 'none', /^[\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]{1,256}$/);
}

function isServer(entry: string): boolean {
  if (!/^(?:(?:nats|tls):\/\/)?[^\s/?#,]+\/?$/.test(entry)) return false;
  const url = entry.includes('://') ? entry : `nats://${entry}`;
  return URL.canParse(url) && new URL(url).hostname !== '';
}

/** Servers of NATS: `nats://host:4222`, `tls://user:password@host`, `host:4222`. The word `none` is the empty list. */
export function natsServers(): Kind<readonly string[]> {
  const allowed =
    'none, or servers like nats://host:4222, nats://user:password@host, tls://host, separated by commas';
  return urls(allowed, isServer, 'the server');
}

/**
 * A list of URLs, of which none is shown with a password.
 *
 * @param one what an entry is called that stands alone
 */
function urls(
  allowed: string,
  isEntry: (entry: string) => boolean,
  one: string,
): Kind<readonly string[]> {
  return {
    ...listOrEmpty('url', allowed, isEntry),
    // The whole list is not shown: other entries may hold passwords.
    faultOf: (value) => {
      const list = listed(value);
      const at = list.findIndex((entry) => typeof entry !== 'string' || !isEntry(entry));
      return {
        where: list.length > 1 ? `entry ${at + 1}` : one,
        allowed,
        given: withoutSecret(list[at]),
      };
    },
  };
}

/** Beginnings of subjects, whole tokens. */
export function subjectPrefixes(): Kind<readonly string[]> {
  const allowed = 'none, or subjects of NATS without wildcards, separated by commas';
  return listOrEmpty('prefix', allowed, /^[\w-]{1,64}(?:\.[\w-]{1,64})*$/);
}

/** Names of services: the first token of their subjects. */
export function serviceNames(): Kind<readonly string[]> {
  const allowed = 'names of letters, digits, - and _, separated by commas';
  return list('name', allowed, undefined, /^[\w-]{1,64}$/);
}

/** What one caller may take, as the option `rateLimit` has it. */
export interface Rate {
  readonly calls: number;
  readonly costMs: number;
  readonly burstSeconds: number;
}

const rateRanges: Readonly<Record<keyof Rate, Range>> = {
  calls: { min: 1, max: 1_000_000, orZero: true },
  costMs: { min: 1, max: 1_000_000, orZero: true },
  burstSeconds: { min: 1, max: 3600 },
};

/** `calls=100,costMs=500,burstSeconds=2`, in code an object of these; the word `none` is no limit. */
export function rate(): Kind<Rate> {
  return {
    placeholder: 'rate',
    allowed:
      'none, or calls and costMs a second and burstSeconds, whole numbers: calls=100,burstSeconds=2; in code an object of these',
    fromText: (text) => {
      if (text.trim() === 'none') return 'none';
      const pairs = splitList(text).map((entry) => entry.split('='));
      return Object.fromEntries(
        pairs.map(([name = '', value = '']) => [name.trim(), readAmount(value, { '': 1 })]),
      );
    },
    check: (value) => {
      if (value === 'none') return checkRate({});
      return typeof value === 'object' && value !== null && !Array.isArray(value)
        ? checkRate(value)
        : undefined;
    },
    toText: ({ calls, costMs, burstSeconds }: Rate) => {
      const parts = [calls > 0 && `calls=${calls}`, costMs > 0 && `costMs=${costMs}`];
      const given = parts.filter((part) => part !== false);
      return given.length === 0 ? 'none' : [...given, `burstSeconds=${burstSeconds}`].join(',');
    },
  };
}

function checkRate(given: object): Rate | undefined {
  const rate: Record<string, number> = { calls: 0, costMs: 0, burstSeconds: 1 };
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    if (!Object.hasOwn(rateRanges, name)) return undefined;
    const settled = inRange(value, rateRanges[name as keyof Rate]);
    if (settled === undefined) return undefined;
    rate[name] = settled;
  }
  // Begun with all of its members.
  return Object.freeze(rate as unknown as Rate);
}
