import { isIP } from 'node:net';
/** A type of option: how it reads a value from text, checks it and writes it. */
export interface Kind<T> {
  /** The placeholder of the value in the help (`--port <number>`); undefined: an on/off switch. */
  readonly placeholder: string | undefined;
  /** What is allowed, as text to follow "expected". */
  readonly allowed: string;
  /** Whether `--no-x` is a flag too, though `--x` takes a value. */
  readonly hasNo?: boolean;
  /** Whether the flag may be repeated. */
  readonly repeatable: boolean;
  /** Reads the text of a flag or an environment variable. The value is not checked yet. */
  readonly fromText: (text: string) => unknown;
  /** The value in the form that the configuration holds; undefined: the value is not allowed. */
  readonly check: (value: unknown) => T | undefined;
  /** Which part of a value of several parts is not allowed. Without it the message shows the whole. */
  readonly faultOf?: (value: unknown) => Fault | undefined;
  /** Writes a value as a flag takes it. */
  readonly toText: (value: never) => string;
}

/** A part of a value that is not allowed. */
export interface Fault {
  /** Which part, as text to follow "expected". */
  readonly where: string;
  readonly allowed: string;
  readonly given: unknown;
}

export interface Range {
  readonly min: number;
  readonly max: number;
  /** Also allows 0, which means "none" or "never". */
  readonly orZero?: boolean;
}

export function inRange(value: unknown, { min, max, orZero }: Range): number | undefined {
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) return undefined;
  return (value >= min && value <= max) || (orZero === true && value === 0) ? value : undefined;
}

/** A number times its unit. Any other text is returned as it is, and `check` refuses it. */
export function readAmount(text: string, units: Readonly<Record<string, number>>): unknown {
  const match = /^(\d+(?:\.\d+)?) ?([a-z]*)$/.exec(text.trim().toLowerCase());
  const factor = match === null ? undefined : units[match[2] ?? ''];
  return match === null || factor === undefined ? text : Number(match[1]) * factor;
}

function rangeText(range: Range, show: (value: number) => string = String): string {
  const span = `${show(range.min)} to ${show(range.max)}`;
  return range.orZero === true ? `0 or ${span}` : span;
}

export function integer(range: Range, placeholder = 'number'): Kind<number> {
  return {
    placeholder,
    allowed: `a whole number, ${rangeText(range)}`,
    repeatable: false,
    fromText: (text) => readAmount(text, { '': 1 }),
    check: (value) => inRange(value, range),
    toText: String,
  };
}

/** A port, or a word in its place. */
export function portOr<const Word extends string>(word: Word): Kind<number | Word> {
  const range = { min: 0, max: 65535 };
  return {
    placeholder: 'number',
    allowed: `${word}, or a whole number, ${rangeText(range)}`,
    repeatable: false,
    fromText: (text) => (text.trim() === word ? word : readAmount(text, { '': 1 })),
    check: (value) => (value === word ? word : inRange(value, range)),
    toText: String,
  };
}

/** The longest delay of a timer: with a longer one, setTimeout fires at once. */
const maxTimerMs = 2 ** 31 - 1;

/** Milliseconds. Text may have a unit: 500ms, 30s, 5m. */
export function duration(min: number, { orZero = false, max = maxTimerMs } = {}): Kind<number> {
  const range = { min, max, orZero };
  return {
    placeholder: 'ms',
    allowed: `milliseconds, ${rangeText(range)} (a flag or variable also takes 500ms, 30s, 5m)`,
    repeatable: false,
    fromText: (text) => readAmount(text, { '': 1, ms: 1, s: 1000, m: 60_000 }),
    check: (value) => inRange(value, range),
    toText: String,
  };
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
  return {
    placeholder: 'bytes',
    allowed: `bytes, ${rangeText(range, showBytes)} (a flag or variable also takes 512kb, 10mb)`,
    repeatable: false,
    fromText: (text) => readAmount(text, byteUnits),
    check: (value) => inRange(value, range),
    toText: showBytes,
  };
}

export function oneOf<const T extends string>(...values: readonly T[]): Kind<T> {
  return {
    placeholder: values.join('|'),
    allowed: values.join(', '),
    repeatable: false,
    fromText: (text) => text.trim(),
    check: (value) => values.find((allowed) => allowed === value),
    toText: String,
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
    placeholder: undefined,
    allowed: 'true or false',
    repeatable: false,
    fromText: (text) => {
      const word = text.trim().toLowerCase();
      return Object.hasOwn(switchWords, word) ? switchWords[word] : text;
    },
    check: (value) => (typeof value === 'boolean' ? value : undefined),
    toText: String,
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

/** Text that matches `shape`. */
export function text(placeholder: string, allowed: string, shape: RegExp): Kind<string> {
  return {
    placeholder,
    allowed,
    repeatable: false,
    fromText: (value) => value.trim(),
    check: (value) => (typeof value === 'string' && shape.test(value) ? value : undefined),
    toText: String,
  };
}

/** The path of a file. The empty text and the word `none` mean no file. */
export function file(): Kind<string> {
  return {
    placeholder: 'file',
    allowed: 'the path of a file, or none',
    repeatable: false,
    fromText: (value) => (value.trim() === 'none' ? '' : value.trim()),
    check: (value) => (typeof value === 'string' && !/\p{Cc}/u.test(value) ? value : undefined),
    toText: (value: string) => value || 'none',
  };
}

/** Permissions of a file, as `chmod` takes them. */
export function fileMode(): Kind<number> {
  const range = { min: 0, max: 0o777 };
  return {
    placeholder: 'octal',
    allowed: 'octal digits as for chmod, 0 to 777 (in code a number: 0o660)',
    repeatable: false,
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

function checkList(value: unknown, shape: RegExp): readonly string[] | undefined {
  const list: unknown = typeof value === 'string' ? [value] : value;
  if (!Array.isArray(list)) return undefined;
  const entries = list.filter((entry): entry is string => typeof entry === 'string');
  if (entries.length !== list.length || !entries.every((entry) => shape.test(entry))) {
    return undefined;
  }
  return Object.freeze([...new Set(entries)]);
}

/** Header names. The configuration holds them in lower case. */
export function headerNames(): Kind<readonly string[]> {
  // The grammar of HTTP allows a header named *, but whoever writes that means all headers.
  const token = /^(?!\*$)[!#$%&'*+.^_`|~0-9a-z-]+$/i;
  return {
    placeholder: 'names',
    allowed: 'header names, separated by commas, without *',
    repeatable: true,
    fromText: splitList,
    check: (value) =>
      checkList(
        checkList(value, token)?.map((name) => name.toLowerCase()),
        token,
      ),
    toText: (value: readonly string[]) => (value.length === 0 ? 'none' : value.join(',')),
  };
}

/** Hosts as in a Host header. The configuration holds them in lower case. The word `none` is the empty list. */
export function hosts(): Kind<readonly string[]> {
  // What URL parsers leave unchanged: a name, an IPv4 address or an IPv6 address in brackets, and perhaps a port.
  const host = /^(?:\[[0-9a-f:.]{2,45}\]|[a-z0-9_](?:[a-z0-9_.-]{0,253}[a-z0-9_])?)(?::\d{1,5})?$/;
  return {
    placeholder: 'hosts',
    allowed: 'none, or hosts like example.com, 127.0.0.1:8000, [::1], separated by commas',
    repeatable: true,
    fromText: splitList,
    check: (value) => {
      const list: unknown = typeof value === 'string' ? [value] : value;
      if (Array.isArray(list) && list.length === 1 && list[0] === 'none') return Object.freeze([]);
      return checkList(
        checkList(list, /^/)?.map((entry) => entry.toLowerCase()),
        host,
      );
    },
    toText: (value: readonly string[]) => value.join(',') || 'none',
  };
}

/** Names of procedures, in which a star stands for any characters. The word `all` is the empty list. */
export function procedurePatterns(): Kind<readonly string[]> {
  return {
    placeholder: 'names',
    allowed: 'all, or names of procedures like math.add, math.*, separated by commas',
    repeatable: true,
    fromText: splitList,
    check: (value) => {
      const list: unknown = typeof value === 'string' ? [value] : value;
      if (Array.isArray(list) && list.length === 1 && list[0] === 'all') return Object.freeze([]);
      return checkList(list, /^[A-Za-z_*][\w\-./:*]{0,255}$/);
    },
    toText: (value: readonly string[]) => value.join(',') || 'all',
  };
}

/** Addresses and networks of them, `10.0.0.0/8`, and the word `unix`; the word `none` is the empty list. */
export function addresses(): Kind<readonly string[]> {
  return {
    placeholder: 'addresses',
    allowed:
      'none, or addresses and networks like 127.0.0.1, 10.0.0.0/8, fd00::/8, and unix, separated by commas',
    repeatable: true,
    fromText: splitList,
    check: (value) => {
      const list: unknown = typeof value === 'string' ? [value] : value;
      if (Array.isArray(list) && list.length === 1 && list[0] === 'none') return Object.freeze([]);
      const entries = checkList(list, /^(?:[\da-f:.]+(?:\/\d{1,3})?|unix)$/i);
      return entries?.every(isNetwork) === true ? entries : undefined;
    },
    toText: (value: readonly string[]) => value.join(',') || 'none',
  };
}

function isNetwork(entry: string): boolean {
  if (entry === 'unix') return true;
  const [address = '', prefix = '0'] = entry.split('/');
  const bits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  return Number(prefix) <= bits;
}

/** `*`, or a list of origins as browsers send them. The word `none` is the empty list. */
export function origins(): Kind<'*' | readonly string[]> {
  // No path and no trailing slash: an entry must equal the Origin header exactly.
  const origin = /^[a-z][a-z0-9+.-]*:\/\/[\x21-\x2b\x2d\x2e\x30-\x3e\x40-\x5b\x5d-\x7e]+$/;
  return {
    placeholder: 'origins',
    allowed: '*, none, or origins like https://app.example.com (lower case, no path, no final /)',
    repeatable: true,
    fromText: splitList,
    check: (value) => {
      const list: unknown = typeof value === 'string' ? [value] : value;
      if (Array.isArray(list) && list.length === 1 && list[0] === '*') return '*';
      if (Array.isArray(list) && list.length === 1 && list[0] === 'none') return Object.freeze([]);
      return checkList(list, origin);
    },
    toText: (value: '*' | readonly string[]) => (value === '*' ? value : value.join(',') || 'none'),
  };
}
