import { longestDelayMs } from '../../base/timer.ts';
import type { Kind } from './kind.ts';

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

/** Milliseconds. Text may have a unit: 500ms, 30s, 5m. */
export function duration(min: number, { orZero = false, max = longestDelayMs } = {}): Kind<number> {
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
