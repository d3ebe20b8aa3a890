import { Kind, type TProperties, type TSchema, Type, TypeRegistry } from '@sinclair/typebox';
import { cached } from '../base/cached.ts';
import { RegistrationError } from '../base/registration-error.ts';
import { didYouMean, suggest } from '../base/suggest.ts';
import { shown } from '../base/text.ts';
import { isObject } from '../base/value-kinds.ts';
import { createChecks } from './check.ts';
import { type Mismatch, mismatchesOf } from './explain.ts';
import { readTypeBox } from './json-schema.ts';
import type { Check } from './keywords.ts';
import { model } from './type.ts';

/** Checks options. @param where begins the message: what takes them */
export type OptionsCheck = (options: unknown, where: string) => void;

interface CheckOptions<Name> {
  /** What the options are, as text to follow "must be". Default: an object. */
  readonly expected?: string;
  readonly required?: readonly Name[];
  /** Default: RegistrationError. */
  readonly Failure?: new (
    message: string,
  ) => Error;
}

/**
 * Makes the check of the options of a procedure or a method, which throws one line: where, which option, what it has to be, what
 * was given. An option that is undefined is absent.
 *
 * @param members the schema of each option. It is made and compiled when the option is given for the first time: most never are.
 *   The `description` of a part is text to follow "must be"
 */
export function optionsCheck<Name extends string>(
  members: Readonly<Record<Name, () => TSchema>>,
  {
    expected = 'an object',
    required = [],
    Failure = RegistrationError,
  }: CheckOptions<NoInfer<Name>> = {},
): OptionsCheck {
  const finders = new Map<Name, FaultFinder>();
  const names = Object.keys(members);
  return (options, where) => {
    const fail = (fault: string): never => {
      throw new Failure(`${where}: ${fault}`);
    };
    if (!isObject(options)) return fail(`the options must be ${expected}, got ${shown(options)}`);
    const check = (name: Name): void => {
      const faultOf = cached(finders, name, () => faultFinder(members[name](), name));
      const fault = faultOf(options[name]);
      if (fault !== undefined) fail(fault);
    };
    for (const name of Object.keys(options)) {
      if (!Object.hasOwn(members, name)) fail(unknownText(name, names));
      if (options[name] !== undefined) check(name as Name);
    }
    for (const name of required) if (options[name] === undefined) check(name);
  };
}

/** Returns what is wrong with the value of an option. */
type FaultFinder = (value: unknown) => string | undefined;

function faultFinder(schema: TSchema, name: string): FaultFinder {
  const node = readTypeBox(schema, name, false);
  const checks = createChecks(node, name);
  return (value) => {
    if (checks.check(value)) return undefined;
    const mismatches = mismatchesOf(node, value, checks);
    // If a name is misspelt, what is missing is probably what was meant.
    const misspelt = mismatches.find(({ names }) => names !== undefined);
    const told = misspelt ?? (mismatches[0] as Mismatch); // There is one for each value that does not match.
    const option = name + told.path.replaceAll('/', '.');
    if (told.names !== undefined) return unknownText(option, told.names);
    const { description } = told.node?.notes ?? {};
    const must = typeof description === 'string' ? `must be ${description}` : told.message;
    return `option ${option} ${must}, got ${shown(told.value)}`;
  };
}

/** @param path the names of the options that hold it, and its own, with points between them */
function unknownText(path: string, names: Iterable<string>): string {
  const hint = didYouMean(suggest(path.slice(path.lastIndexOf('.') + 1), names)) || '.';
  return `unknown option ${JSON.stringify(path)}${hint} Known: ${[...names].join(', ')}`;
}

const valueKind = 'tandem-rpc.Value';

/** A value that no JSON schema describes: a function, a schema. @param description text to follow "must be" */
export function valueThat(fits: Check, description: string): TSchema {
  TypeRegistry.Set<TSchema>(valueKind, (schema, value) => (schema.fits as Check)(value));
  return { [Kind]: valueKind, description, fits } as unknown as TSchema;
}

export function aFunction(): TSchema {
  return valueThat((value) => typeof value === 'function', 'a function');
}

/** @param of what is counted */
export function wholeNumber(of: string, minimum: number, most?: number): TSchema {
  const range = most === undefined ? `${minimum} or more` : `${minimum} to ${most}`;
  const maximum = most ?? Number.MAX_SAFE_INTEGER;
  return Type.Integer({ minimum, maximum, description: `a whole number of ${of}, ${range}` });
}

/** An option that holds options. */
export function objectOf<Name extends string>(
  required: { readonly [N in Name]?: TSchema },
  optional: { readonly [N in Name]?: TSchema },
): TSchema {
  const names = [...Object.keys(required), ...Object.keys(optional).map((name) => `${name}?`)];
  const members = { ...required, ...Type.Partial(Type.Object(optional as TProperties)).properties };
  return model(members as TProperties, { description: `an object: { ${names.join(', ')} }` });
}

export function oneOf(...values: readonly string[]): TSchema {
  const quoted = values.map((value) => `'${value}'`);
  const description = `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`;
  return Type.Union(
    values.map((value) => Type.Literal(value)),
    { description },
  );
}

export const yesOrNo = (): TSchema => Type.Boolean({ description: 'true or false' });

export const text = (): TSchema => Type.String({ description: 'a string' });

/** What something else checks. */
export const anything = (): TSchema => Type.Unknown();
