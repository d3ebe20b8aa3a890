import type { Kind } from './kind.ts';

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
