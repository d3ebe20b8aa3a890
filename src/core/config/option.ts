import type { Kind } from './kinds.ts';

/** The headings of the help and of the table in docs/reference, in the order in which they are shown. */
export const groups = [
  'Network',
  'Processes',
  'Workers',
  'Time',
  'Limits',
  'Protocol',
  'NATS',
  'Log',
] as const;
export type Group = (typeof groups)[number];

/** A default that depends on the machine or on other options. */
export interface Derived<T> {
  /** The default as the help and the table describe it. */
  readonly text: string;
  readonly from: (given: Readonly<Record<string, unknown>>) => T;
}

export interface Option<T> {
  readonly group: Group;
  readonly kind: Kind<T>;
  readonly fallback: { readonly value: T } | Derived<T>;
  readonly about: string;
  /** Why the default, or the bound, is what it is. */
  readonly reason: string;
  /** The long flag without its dashes; undefined: the option's name in kebab case. */
  readonly flag: string | undefined;
  /** The environment variable; undefined: TANDEM_ and the flag. */
  readonly variable: string | undefined;
}

interface Row<T> extends Omit<Option<T>, 'group' | 'fallback' | 'flag' | 'variable'> {
  readonly fallback: NoInfer<T> | Derived<NoInfer<T>>;
  readonly flag?: string;
  readonly variable?: string;
}

function isDerived<T>(fallback: T | Derived<T>): fallback is Derived<T> {
  return typeof fallback === 'object' && fallback !== null && 'from' in fallback;
}

/** Makes the options below one heading. */
export function optionsIn(group: Group) {
  return <T>(row: Row<T>): Option<T> => {
    const fallback = isDerived(row.fallback) ? row.fallback : { value: row.fallback };
    return { ...row, group, fallback, flag: row.flag, variable: row.variable };
  };
}

function toKebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** The long flag, without its dashes, of the option `name`. */
export function flagOf(name: string, { flag }: Pick<Option<unknown>, 'flag'>): string {
  return flag ?? toKebab(name);
}

/** What the environment variables of options begin with. */
export const variablePrefix = 'TANDEM_';

/** The environment variable of the option `name`. */
export function variableOf(
  name: string,
  { flag, variable }: Pick<Option<unknown>, 'flag' | 'variable'>,
): string {
  return variable ?? variablePrefix + toUpperSnake(flagOf(name, { flag }));
}

/** `maxBodyBytes` and `max-body-bytes` as MAX_BODY_BYTES. */
export function toUpperSnake(name: string): string {
  return toKebab(name).toUpperCase().replaceAll('-', '_');
}

export function defaultText<T>({ fallback, kind }: Option<T>): string {
  // Safe: the default is a value of the option's own kind.
  return 'text' in fallback ? fallback.text : kind.toText(fallback.value as never);
}

/** The flag as the help and the table show it: `--port <number>`; for a switch, the form that changes its default. */
export function flagText(name: string, option: Option<unknown>): string {
  const flag = flagOf(name, option);
  const { placeholder } = option.kind;
  if (placeholder !== undefined) return `--${flag} <${placeholder}>`;
  return 'value' in option.fallback && option.fallback.value === true
    ? `--no-${flag}`
    : `--${flag}`;
}
