import { isThenable } from '../base/value-kinds.ts';
import type { BaseContext, CallContext, Env } from './context.ts';

/**
 * Something around handlers: a check, a transaction, a measurement. It returns what `next` gives, or
 * `reply(value)` to answer without the handler, and throws to refuse. It runs on the thread of the handler, after the
 * params were validated. A function that is not asynchronous keeps the call synchronous.
 *
 * @typeParam Needs the context that it relies on
 * @typeParam X what it adds to the context
 */
export type Middleware<Needs = CallContext, X extends object = Record<never, never>> = (
  context: Needs,
  next: Next,
  params: Readonly<Record<string, unknown>>,
) => Passed<X> | Promise<Passed<X>>;

/**
 * Runs what comes after: further middleware and the handler. May be called once.
 *
 * @param add members for the context of what comes after. `auth` and `state` may be replaced, other members of a
 *   CallContext may not
 * @param onEnd is told how it ended. It must be synchronous. What it throws takes the place of the outcome
 */
export type Next = <X extends object = Record<never, never>>(
  add?: X & Free<X>,
  onEnd?: (ended: Ended) => void,
) => Passed<X> | Promise<Passed<X>>;

/** Nothing, for members that may be added. Of one that may not, the compiler's message has this name. */
type Free<X> = {
  readonly [Name in keyof X &
    Exclude<keyof CallContext, 'auth' | 'state'>]?: AlreadyInContext<Name>;
};

export interface AlreadyInContext<Name> {
  readonly '~name': Name;
}

/** How a handler ended: before its result is checked against `returns` and made JSON. */
export type Ended =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly error: unknown };

/** A list of middleware. `Xs` is what each member adds, by which the compiler infers the members one by one. */
export type UseList<E extends Env, Xs extends readonly object[]> = {
  readonly [Index in keyof Xs]: Middleware<BaseContext<E>, Xs[Index]>;
};

export type Link =
  | { readonly kind: 'use'; readonly run: Middleware }
  | { readonly kind: 'authorize'; readonly run: Authorize };

/**
 * Answers a call from a middleware: `return reply(value)`. The value is checked against `returns` like that of a
 * handler. A promise is waited for, and so is anything else that has `then`, such as a query of knex.
 */
export function reply(value: unknown): Passed<never> | Promise<Passed<never>> {
  return isThenable(value)
    ? Promise.resolve(value).then((settled) => new Passed<never>(settled))
    : new Passed<never>(value);
}

/**
 * Allows a call by returning nothing, and refuses it by throwing. An RpcError reaches the caller as it is; anything
 * else that is thrown is a -32603. A returned value is a -32603 too, so that a function that returns true or false
 * fails at its first call instead of letting everybody in.
 */
export type Authorize<Params = never, Context = CallContext<never, Record<never, never>, never>> = (
  context: Context,
  params: Params,
) => void | Promise<void>;

/**
 * Refuses any value: an `authorize` that returns true and false would otherwise let everybody in.
 *
 * @throws TypeError
 */
export function assertNothing(permission: unknown): void {
  if (permission === undefined) return;
  throw new TypeError(
    `authorize returned a value (${typeof permission}): it must return nothing, and throw an RpcError to refuse`,
  );
}

/** A global symbol, so that what another copy of this package has made is recognised. */
const brand: unique symbol = Symbol.for('tandem-rpc.Passed') as typeof brand;

/**
 * What a call came to, as middleware sees it. Only `next` and `reply` make one: a middleware that forgets to return, or
 * that returns something else, is found at its first call.
 *
 * @typeParam X what was added to the context on the way; exists only in the type
 */
export class Passed<out X extends object = object> {
  /** @internal */
  readonly [brand] = true;
  declare readonly '~added': X;
  /** What the handler returned, before it is checked and made JSON. */
  readonly result: unknown;

  constructor(result: unknown) {
    this.result = result;
  }
}

export function isPassed(value: unknown): value is Passed {
  return typeof value === 'object' && value !== null && brand in value;
}
