import { isGeneratorFunction, shown } from '../callable.ts';
import { assertName } from '../names.ts';
import { RegistrationError } from '../registration-error.ts';
import { type CompiledReturns, compileReturns } from '../schema/schema.ts';
import type { ProcedureOptions, StreamOptions, StreamRules } from '../types.ts';

/** The options of a stream, checked and compiled before its handler is known. */
export interface CompiledYields extends CompiledReturns {
  readonly options: StreamOptions;
  /** Whether the options say that the procedure is a stream, whatever its function. */
  readonly isDeclared: boolean;
}

interface Rule {
  readonly valid: (value: unknown) => boolean;
  readonly expected: string;
}

/** What each option of a stream may be. */
const rules: Readonly<Record<keyof StreamOptions, Rule>> = {
  notification: { valid: (value) => typeof value === 'string', expected: 'a name' },
  unsubscribe: { valid: (value) => typeof value === 'string', expected: 'a name' },
  collect: { valid: (value) => typeof value === 'boolean', expected: 'true or false' },
  drain: { valid: (value) => value === 'end' || value === 'finish', expected: "'end' or 'finish'" },
};

/** @throws RegistrationError */
export function compileYields(
  { yields, stream }: Pick<ProcedureOptions, 'yields' | 'stream'>,
  where: string,
): CompiledYields {
  const options = typeof stream === 'object' ? stream : {};
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(rules, name)) {
      const known = Object.keys(rules).join(', ');
      throw new RegistrationError(
        `${where}: option stream has no member ${JSON.stringify(name)}. Known: ${known}`,
      );
    }
    const { valid, expected } = rules[name as keyof StreamOptions];
    if (value !== undefined && !valid(value)) {
      throw new RegistrationError(
        `${where}: option stream.${name} must be ${expected}, got ${shown(value)}`,
      );
    }
  }
  const { notification, unsubscribe } = options;
  if (notification !== undefined) assertName(notification, `${where}: option stream.notification`);
  if (unsubscribe !== undefined) assertName(unsubscribe, `${where}: option stream.unsubscribe`);
  const isDeclared = stream !== undefined || yields !== undefined;
  return { ...compileReturns(yields, where, 'yields'), options, isDeclared };
}

/** What the procedure is as a stream; undefined: it is none. */
export function streamRules(
  { schema, result, options, isDeclared }: CompiledYields,
  handler: object,
): StreamRules | undefined {
  if (!isDeclared && !isGeneratorFunction(handler)) return undefined;
  const { notification, unsubscribe, collect = false, drain = 'end' } = options;
  return Object.freeze({
    notification,
    unsubscribe,
    collect,
    drain,
    yields: schema,
    value: result,
  });
}
