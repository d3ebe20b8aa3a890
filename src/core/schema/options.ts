import { Kind, type TSchema, Type, TypeRegistry } from '@sinclair/typebox';
import { RegistrationError } from '../base/registration-error.ts';
import { didYouMean } from '../base/suggest.ts';
import { shown } from '../base/value-kinds.ts';
import { createChecks } from './check.ts';
import { type Mismatch, mismatchesOf } from './explain.ts';
import type { Check } from './keywords.ts';
import type { SchemaNode } from './model.ts';
import { readTypeBox } from './typebox.ts';

/** Checks options. @param where begins the message: what takes them */
export type OptionsCheck = (options: unknown, where: string) => void;

/**
 * Makes the check of the options of a procedure or a method, which throws one line: where, which option, what it has to be, what
 * was given. An option that is undefined is absent.
 *
 * @param schema what the options may be. It is made and compiled at the first use. The `description` of a part is text to follow
 *   "must be"; a part without one is described by its type
 */
export function optionsCheck(
  schema: () => TSchema,
  Failure: new (message: string) => Error = RegistrationError,
): OptionsCheck {
  let assertFits = (options: unknown, where: string): void => {
    const node = readTypeBox(schema(), where, false);
    const checks = createChecks(node, where);
    assertFits = (given, place) => {
      if (checks.check(given)) return;
      const mismatches = mismatchesOf(node, given, checks);
      // A name that is misspelt comes first: the option that is missing is the one that was meant.
      const told = mismatches.find(({ names }) => names !== undefined) ?? mismatches[0];
      if (told !== undefined) throw new Failure(`${place}: ${faultText(told)}`);
    };
    assertFits(options, where);
  };
  return (options, where) => assertFits(options, where);
}

const words: Readonly<Partial<Record<SchemaNode['kind'], string>>> = {
  boolean: 'true or false',
  object: 'an object',
  string: 'a string',
};

function faultText({ path, message, node, value, names }: Mismatch): string {
  const option = path.slice(1).replaceAll('/', '.');
  if (names !== undefined) {
    const hint = didYouMean(path.slice(path.lastIndexOf('/') + 1), names) || '.';
    return `unknown option ${JSON.stringify(option)}${hint} Known: ${[...names].join(', ')}`;
  }
  const expected = node && (node.notes.description ?? words[node.kind]);
  const must = typeof expected === 'string' ? `must be ${expected}` : message;
  const subject = path === '' ? 'the options' : `option ${option}`;
  return `${subject} ${must}, got ${shown(value)}`;
}

const valueKind = 'tandem-rpc.Value';

/** A value that no JSON schema describes: a function, a schema. @param expected text to follow "must be" */
export function valueThat(fits: Check, expected: string): TSchema {
  TypeRegistry.Set<TSchema>(valueKind, ({ fits }, value) => (fits as Check)(value));
  return { [Kind]: valueKind, description: expected, fits } as unknown as TSchema;
}

export function aFunction(expected = 'a function'): TSchema {
  return valueThat((value) => typeof value === 'function', expected);
}

/** The limits of an integer that JavaScript holds exactly. */
export function safeFrom(minimum: number) {
  return { minimum, maximum: Number.MAX_SAFE_INTEGER };
}

export function oneOf(...values: readonly string[]): TSchema {
  const quoted = values.map((value) => `'${value}'`);
  const description = `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`;
  return Type.Union(
    values.map((value) => Type.Literal(value)),
    { description },
  );
}
