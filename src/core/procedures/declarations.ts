import type { Static, TSchema } from '@sinclair/typebox';
import { didYouMean } from '../base/suggest.ts';
import { RpcError } from '../protocol/errors.ts';
import { RegistrationError } from './registration.ts';
import { assertSchema } from './schema/schema-rules.ts';

/** An error that a procedure declares: part of its contract. */
export interface ErrorDeclaration {
  /** Any integer outside -32768 to -32000. No two errors of a procedure share a code: callers tell them apart by it. */
  readonly code: number;
  /** One short sentence. */
  readonly message: string;
  /** The schema of the error's data. Without a schema the error carries no data. */
  readonly data?: TSchema | undefined;
}

/** The declared errors by name. A name has letters, digits and `_`, and begins with a letter or `_`. */
export type ErrorDeclarations = Readonly<Record<string, ErrorDeclaration>>;

/** The type of `context.errors`: a function for each declared error, for `throw errors.NAME(data)`. */
export type ErrorMakers<Errors> = {
  readonly [Name in keyof Errors]: Errors[Name] extends {
    readonly data: infer Data extends TSchema;
  }
    ? (data: Static<Data>) => RpcError
    : () => RpcError;
};

/** The errors in a contract: their codes and the types of their data. */
export type ErrorTypes<Errors> = {
  readonly [Name in keyof Errors]: Errors[Name] extends {
    readonly code: infer Code;
    readonly data: infer Data extends TSchema;
  }
    ? { readonly code: Code; readonly data: Static<Data> }
    : Pick<Errors[Name], 'code' & keyof Errors[Name]>;
};

export interface CompiledErrors {
  readonly declared: ErrorDeclarations;
  readonly make: Readonly<Record<string, (data?: unknown) => RpcError>>;
}

export function compileErrors(
  declared: ErrorDeclarations | undefined,
  where: string,
): CompiledErrors | undefined {
  if (declared === undefined || Object.keys(declared).length === 0) return undefined;
  const names = new Map<number, string>();
  const kept: Record<string, ErrorDeclaration> = {};
  const make: Record<string, (data?: unknown) => RpcError> = {};
  for (const [name, declaration] of Object.entries(declared)) {
    const place = `${where}: errors.${name}`;
    const fault = declarationFault(name, declaration);
    if (fault !== undefined) throw new RegistrationError(`${place}: ${fault}`);
    const { code, message, data } = declaration;
    const other = names.get(code);
    if (other !== undefined) {
      throw new RegistrationError(
        `${place}: the code ${code} is that of ${other} already; callers tell errors apart by it`,
      );
    }
    names.set(code, name);
    if (data !== undefined) assertSchema(data, `${place}.data`);
    kept[name] = { code, message, data };
    make[name] = (value) => new RpcError(code, message, value);
  }
  return { declared: kept, make: Object.freeze(make) };
}

const members = ['code', 'message', 'data'];

function declarationFault(name: string, declaration: unknown): string | undefined {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || name === '__proto__') {
    return "an error's name has letters, digits and _, and begins with a letter or _";
  }
  if (typeof declaration !== 'object' || declaration === null) {
    return 'must be an object: { code, message, data? }';
  }
  const odd = Object.keys(declaration).find((key) => !members.includes(key));
  if (odd !== undefined)
    return `unknown member ${JSON.stringify(odd)}. Known: ${members.join(', ')}${didYouMean(odd, members)}`;
  const { code, message } = declaration as Partial<Record<keyof ErrorDeclaration, unknown>>;
  if (!Number.isSafeInteger(code)) return `code must be an integer, got ${String(code)}`;
  if (Number(code) >= -32768 && Number(code) <= -32000) {
    return `the code ${String(code)} is reserved: JSON-RPC 2.0 keeps -32768 to -32000 for itself`;
  }
  if (typeof message !== 'string' || message === '') return 'message must be a string, not empty';
  return undefined;
}

/** What a procedure does to the world. Callers, tools and agents decide by it; nothing here enforces it. */
export interface Effects {
  /** Changes nothing that a caller could notice: the call may be repeated, and run beside others. */
  readonly readOnly?: boolean;
  /** Running the call twice has the effect of running it once: the call may be repeated. */
  readonly idempotent?: boolean;
  /** May destroy what can't be restored. */
  readonly destructive?: boolean;
  /** Reaches beyond this service: other systems, people. */
  readonly openWorld?: boolean;
}

const names = ['readOnly', 'idempotent', 'destructive', 'openWorld'] as const;

/**
 * @returns undefined if nothing is said
 * @throws RegistrationError
 */
export function compileEffects(given: Effects | undefined, where: string): Effects | undefined {
  if (given === undefined) return undefined;
  const effects: { -readonly [Name in keyof Effects]: boolean } = {};
  for (const [name, value] of Object.entries(given) as [string, unknown][]) {
    const known = names.find((one) => one === name);
    if (known === undefined || (value !== undefined && typeof value !== 'boolean')) {
      const hint = known === undefined ? didYouMean(name, names) : '';
      throw new RegistrationError(
        `${where}: effects.${name.slice(0, 64)} is none of ${names.join(', ')}, each true or false${hint}`,
      );
    }
    if (typeof value === 'boolean') effects[known] = value;
  }
  if (effects.readOnly === true && effects.destructive === true) {
    throw new RegistrationError(`${where}: effects can't be readOnly and destructive at once`);
  }
  // In the order above, so that the documents and fingerprints of replicas are equal.
  const ordered = names.flatMap((name) => (name in effects ? [[name, effects[name]]] : []));
  return ordered.length === 0 ? undefined : Object.freeze(Object.fromEntries(ordered) as Effects);
}

/** Whether running a call twice does no harm. */
export function mayRepeat({ effects }: { readonly effects: Effects | undefined }): boolean {
  return effects?.readOnly === true || effects?.idempotent === true;
}
