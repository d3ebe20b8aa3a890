import { type TSchema, Type } from '@sinclair/typebox';
import { RegistrationError } from '../base/registration-error.ts';
import { RpcError } from '../protocol/errors.ts';
import type { ReceivedOf, ResultOf, ResultSchema } from '../schema/declared.ts';
import type { SchemaNode } from '../schema/model.ts';
import { objectOf, oneOf, valueThat, wholeNumber, yesOrNo } from '../schema/options.ts';
import { readResultSchema } from '../schema/schema.ts';

/** An error that a procedure declares: part of its contract. */
export interface ErrorDeclaration {
  /** Any integer outside -32768 to -32000. No two errors of a procedure share a code: callers tell them apart by it. */
  readonly code: number;
  /** One short sentence. */
  readonly message: string;
  /** The schema of the error's data. Without a schema the error carries no data. */
  readonly data?: ResultSchema | undefined;
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
    readonly data: infer Data extends ResultSchema;
  }
    ? (data: ResultOf<Data>) => RpcError
    : () => RpcError;
};

/** The errors in a contract: their codes and the types of their data. */
export type ErrorTypes<Errors> = {
  readonly [Name in keyof Errors]: Errors[Name] extends {
    readonly code: infer Code;
    readonly data: infer Data extends ResultSchema;
  }
    ? { readonly code: Code; readonly data: ReceivedOf<Data> }
    : Pick<Errors[Name], 'code' & keyof Errors[Name]>;
};

/** {@link ErrorDeclaration}, read. */
export interface DeclaredError {
  readonly code: number;
  readonly message: string;
  readonly data?: SchemaNode | undefined;
  readonly status?: number | undefined;
}

export interface CompiledErrors {
  readonly declared: Readonly<Record<string, DeclaredError>>;
  readonly make: Readonly<Record<string, (data?: unknown) => RpcError>>;
}

const errorNames = /^(?!__proto__$)[A-Za-z_][A-Za-z0-9_]*$/;

/** `compileErrors` checks the names. */
export function errorsSchema(): TSchema {
  const { MIN_SAFE_INTEGER: minimum, MAX_SAFE_INTEGER: maximum } = Number;
  const code = Type.Union(
    [Type.Integer({ minimum, maximum: -32769 }), Type.Integer({ minimum: -31999, maximum })],
    { description: 'an integer outside -32768 to -32000, which JSON-RPC 2.0 reserves' },
  );
  const message = Type.String({ minLength: 1, description: 'a string, not empty' });
  const allowed = 'an HTTP status from 400 to 599 that tells nothing of the connection';
  const declaration = objectOf<keyof ErrorDeclaration>(
    { code, message },
    { data: Type.Unknown(), status: valueThat(isErrorStatus, allowed) },
  );
  const description = 'an object of errors: { NAME: { code, message, data?, status? } }';
  return Type.Record(Type.String(), declaration, { description });
}

/** @throws RegistrationError for what the schema cannot say */
export function compileErrors(
  declared: ErrorDeclarations | undefined,
  where: string,
): CompiledErrors | undefined {
  if (declared === undefined || Object.keys(declared).length === 0) return undefined;
  const names = new Map<number, string>();
  const kept: Record<string, DeclaredError> = {};
  const make: Record<string, (data?: unknown) => RpcError> = {};
  for (const [name, { code, message, data: schema, status }] of Object.entries(declared)) {
    const place = `${where}: errors.${name}`;
    if (!errorNames.test(name)) {
      throw new RegistrationError(
        `${place}: an error's name has letters, digits and _, and begins with a letter or _`,
      );
    }
    const other = names.get(code);
    if (other !== undefined) {
      throw new RegistrationError(
        `${place}: the code ${code} is that of ${other} already; callers tell errors apart by it`,
      );
    }
    names.set(code, name);
    const data = schema === undefined ? undefined : readResultSchema(schema, `${place}.data`);
    kept[name] = { code, message, data, status };
    make[name] = (value) => new RpcError(code, message, value);
  }
  return { declared: kept, make: Object.freeze(make) };
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

export function effectsSchema(): TSchema {
  return objectOf({}, Object.fromEntries(names.map((name) => [name, yesOrNo()])));
}

/**
 * @returns undefined if nothing is said
 * @throws RegistrationError
 */
export function compileEffects(given: Effects | undefined, where: string): Effects | undefined {
  if (given?.readOnly === true && given.destructive === true)
    throw new RegistrationError(`${where}: effects can't be readOnly and destructive at once`);
  // In the order of the names, so that the documents and fingerprints of replicas are equal.
  const ordered = names.flatMap((name) =>
    given?.[name] === undefined ? [] : [[name, given[name]]],
  );
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

const maxCacheLength = 366 * 24 * 60 * 60;

export function cacheSchema(): TSchema {
  const seconds = wholeNumber('seconds', 0, maxCacheLength);
  return objectOf<keyof CacheOptions>(
    { maxAgeSeconds: seconds },
    { scope: oneOf('private', 'public'), staleSeconds: seconds },
  );
}

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
  const { maxAgeSeconds, scope = 'private', staleSeconds = 0 } = given;
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
