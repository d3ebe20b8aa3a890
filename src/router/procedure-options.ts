import { suggest } from '../base/suggest.ts';
import { longestDelayMs } from '../base/timer.ts';
import { groupNameAllowed, isGroupName } from '../base/worker-group.ts';
import { shown } from './callable.ts';
import { assertUseList } from './middleware/link.ts';
import { assertName } from './names.ts';
import { RegistrationError } from './registration-error.ts';
import { paramsForms } from './schema/shape.ts';
import { isStandard } from './schema/standard.ts';
import type { ProcedureOptions } from './types.ts';

type OptionName = keyof ProcedureOptions;

interface Rule {
  readonly valid: (value: unknown) => boolean;
  readonly expected: string;
}

/** Types of arktype are functions. */
const isSchema = (value: unknown): boolean =>
  (typeof value === 'object' && value !== null) || isStandard(value);
const isPlain = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 1;

const rules: Readonly<Record<OptionName, Rule>> = {
  name: { valid: (value) => typeof value === 'string', expected: 'a string' },
  params: {
    valid: isSchema,
    expected: paramsForms,
  },
  returns: {
    valid: isSchema,
    expected: 'a TypeBox schema, made by Type, or one of zod, arktype or valibot',
  },
  errors: {
    valid: isPlain,
    expected: 'an object of errors: { NAME: { code, message, data? } }',
  },
  effects: {
    valid: isPlain,
    expected: 'an object: { readOnly?, idempotent?, destructive?, openWorld? }',
  },
  tool: {
    valid: (value) => value === false || value === 'content',
    expected: "false or 'content'",
  },
  doc: { valid: (value) => typeof value === 'string', expected: 'a string' },
  placement: {
    valid: (value) => value === 'inline' || value === 'worker' || value === 'auto',
    expected: "'inline', 'worker' or 'auto'",
  },
  group: { valid: isGroupName, expected: `the name of a group of workers: ${groupNameAllowed}` },
  authorize: {
    valid: (value) => typeof value === 'function',
    expected: 'a function of context and params',
  },
  use: { valid: Array.isArray, expected: 'a list of middleware functions' },
  timeoutMs: {
    valid: (value) => isCount(value) && Number(value) <= longestDelayMs,
    expected: `a whole number of milliseconds, 1 to ${longestDelayMs}`,
  },
  maxConcurrency: { valid: isCount, expected: 'a whole number of calls, 1 or more' },
  yields: {
    valid: isSchema,
    expected: 'a TypeBox schema, made by Type, or one of zod, arktype or valibot',
  },
  stream: {
    valid: (value) => value === true || isPlain(value),
    expected: 'true, or an object: { notification?, unsubscribe?, collect?, drain? }',
  },
  async: { valid: (value) => typeof value === 'boolean', expected: 'true or false' },
};

/**
 * @param where begins the message, e.g. `procedure "add"`
 * @throws RegistrationError
 */
export function assertOptions(
  options: unknown,
  where: string,
): asserts options is ProcedureOptions {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new RegistrationError(
      `${where}: the options must be an object and come before the handler, got ${shown(options)}`,
    );
  }
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(rules, name))
      throw new RegistrationError(`${where}: ${unknownOption(name)}`);
    const { valid, expected } = rules[name as OptionName];
    if (value !== undefined && !valid(value)) {
      throw new RegistrationError(
        `${where}: option ${name} must be ${expected}, got ${shown(value)}`,
      );
    }
  }
  if ('use' in options && options.use !== undefined) assertUseList(options.use, where);
  if ('name' in options && options.name !== undefined) assertName(options.name, where);
  const { placement, group, tool, returns } = options as ProcedureOptions;
  if (tool === 'content' && returns !== undefined) {
    throw new RegistrationError(
      `${where}: option tool says what is returned, { content: [...] }: leave returns out`,
    );
  }
  if (placement === 'inline' && group !== undefined) {
    throw new RegistrationError(
      `${where}: option group (${group}) is for workers, and placement is 'inline': leave one of the two out`,
    );
  }
}

function unknownOption(name: string): string {
  const known = Object.keys(rules);
  const near = suggest(name, known);
  const hint = near === undefined ? '' : `; did you mean ${near}?`;
  return `unknown option ${JSON.stringify(name)}${hint} Known: ${known.join(', ')}`;
}
