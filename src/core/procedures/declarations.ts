import type { Static, TSchema } from '@sinclair/typebox';
import { RegistrationError } from '../base/registration-error.ts';
import { didYouMean } from '../base/suggest.ts';
import { RpcError } from '../protocol/errors.ts';
import { assertCheckable } from '../schema/faults.ts';
import { readTypeBox } from '../schema/typebox.ts';
import { shown } from './registration.ts';

/** An error that a procedure declares: part of its contract. */
export interface ErrorDeclaration {
  /** Any integer outside -32768 to -32000. No two errors of a procedure share a code: callers tell them apart by it. */
  readonly code: number;
  /** One short sentence. */
  readonly message: string;
  /** The schema of the error's data. Without a schema the error carries no data. */
  readonly data?: TSchema | undefined;
  /**
   * The HTTP status of the error where the procedures have URLs (option `httpPath`): 400 to 599, but none of those that tell
   * of connections (407, 408, 411, 421, 425, 426, 431). Default: the code where it is such a status, else 422.
   */
  readonly status?: number | undefined;
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
    const { code, message, data, status } = declaration;
    const other = names.get(code);
    if (other !== undefined) {
      throw new RegistrationError(
        `${place}: the code ${code} is that of ${other} already; callers tell errors apart by it`,
      );
    }
    names.set(code, name);
    if (data !== undefined)
      assertCheckable(readTypeBox(data, `${place}.data`, false), `${place}.data`);
    kept[name] = { code, message, data, status };
    make[name] = (value) => new RpcError(code, message, value);
  }
  return { declared: kept, make: Object.freeze(make) };
}

const members = ['code', 'message', 'data', 'status'];

function declarationFault(name: string, declaration: unknown): string | undefined {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || name === '__proto__') {
    return "an error's name has letters, digits and _, and begins with a letter or _";
  }
  if (typeof declaration !== 'object' || declaration === null) {
    return 'must be an object: { code, message, data?, status? }';
  }
  const odd = Object.keys(declaration).find((key) => !members.includes(key));
  if (odd !== undefined)
    return `unknown member ${JSON.stringify(odd)}. Known: ${members.join(', ')}${didYouMean(odd, members)}`;
  const { code, message, status } = declaration as Partial<Record<keyof ErrorDeclaration, unknown>>;
  if (!Number.isSafeInteger(code)) return `code must be an integer, got ${String(code)}`;
  if (Number(code) >= -32768 && Number(code) <= -32000) {
    return `the code ${String(code)} is reserved: JSON-RPC 2.0 keeps -32768 to -32000 for itself`;
  }
  if (typeof message !== 'string' || message === '') return 'message must be a string, not empty';
  if (status !== undefined && !isErrorStatus(status)) {
    return `status must be an HTTP status from 400 to 599 that tells nothing of the connection, got ${shown(status)}`;
  }
  return undefined;
}

/** Statuses by which clients and proxies act on the connection, whatever the body says. */
const connectionStatuses: ReadonlySet<unknown> = new Set([407, 408, 411, 421, 425, 426, 431]);

/** Whether an error of a procedure may have this HTTP status. */
export function isErrorStatus(status: unknown): boolean {
  const isError = Number.isInteger(status) && Number(status) >= 400 && Number(status) <= 599;
  return isError && !connectionStatuses.has(status);
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

/** How long caches may keep what a GET of the procedure's URL answers (option `httpPath`). */
export interface CacheOptions {
  /** Seconds, 0 to a year. */
  readonly maxAgeSeconds: number;
  /** `public`: caches that several people share may keep it, too. Default `private`. */
  readonly scope?: 'private' | 'public' | undefined;
  /** Seconds for which a cache may go on using it while it asks for a new one. Default: none. */
  readonly staleSeconds?: number | undefined;
}

/** {@link CacheOptions}, complete. */
export interface CacheRules {
  readonly maxAgeSeconds: number;
  readonly scope: 'private' | 'public';
  readonly staleSeconds: number;
}

const longestCache = 366 * 24 * 60 * 60;

const cacheMembers = ['maxAgeSeconds', 'scope', 'staleSeconds'];

/**
 * @param where begins the message, e.g. `procedure "add"`
 * @throws RegistrationError
 */
export function compileCache(
  given: CacheOptions | undefined,
  effects: Effects | undefined,
  where: string,
): CacheRules | undefined {
  if (given === undefined) return undefined;
  const odd = Object.keys(given).find((name) => !cacheMembers.includes(name));
  if (odd !== undefined) {
    throw new RegistrationError(
      `${where}: option cache has no member ${JSON.stringify(odd)}. Known: ${cacheMembers.join(', ')}${didYouMean(odd, cacheMembers)}`,
    );
  }
  const { maxAgeSeconds, scope = 'private', staleSeconds = 0 } = given;
  for (const [name, seconds] of Object.entries({ maxAgeSeconds, staleSeconds })) {
    if (Number.isSafeInteger(seconds) && seconds >= 0 && seconds <= longestCache) continue;
    throw new RegistrationError(
      `${where}: option cache.${name} must be a whole number of seconds, 0 to ${longestCache}, got ${String(seconds)}`,
    );
  }
  if (scope !== 'private' && scope !== 'public') {
    throw new RegistrationError(
      `${where}: option cache.scope must be 'private' or 'public', got ${String(scope)}`,
    );
  }
  if (effects?.readOnly !== true) {
    throw new RegistrationError(
      `${where}: option cache needs effects: { readOnly: true }, since only what is read by GET is kept`,
    );
  }
  return Object.freeze({ maxAgeSeconds, scope, staleSeconds });
}

/** Whether running a call twice does no harm. */
export function mayRepeat({ effects }: { readonly effects: Effects | undefined }): boolean {
  return effects?.readOnly === true || effects?.idempotent === true;
}
