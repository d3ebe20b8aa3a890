import type { CallContext } from './context.ts';

/** The types that the handlers of a router rely on: `new Router<{ auth: User | undefined; state: Db }>()`. */
export interface Env {
  /** What the `authenticate` hook returns. */
  readonly auth?: unknown;
  /** What the `setup()` of the router's module returns. */
  readonly state?: unknown;
  /** What the middleware of the router adds to the context. The type of `use` writes it. */
  readonly '~added'?: object;
}

export type AuthOf<E extends Env> = 'auth' extends keyof E ? E['auth'] : unknown;

export type StateOf<E extends Env> = 'state' extends keyof E ? E['state'] : unknown;

/** `unknown` where nothing is added: an intersection with it changes nothing. */
type AddedOf<E extends Env> = '~added' extends keyof E
  ? object extends E['~added']
    ? unknown
    : E['~added']
  : unknown;

/** What all members of a list of middleware add; `unknown` for a list whose members are not known one by one. */
type AddedBy<Xs extends readonly object[]> = Xs extends readonly [
  infer First,
  ...infer Rest extends readonly object[],
]
  ? Later<First, AddedBy<Rest>>
  : unknown;

/** What is added later takes the place of a member of the same name. */
type Later<First, Then> = [keyof First & keyof Then] extends [never]
  ? First & Then
  : Omit<First, keyof Then> & Then;

/** Intersects only where something was added, so that a context that nobody extends stays a plain CallContext. */
type Extended<Context, Added> = keyof Added extends never ? Context : Context & Added;

/**
 * What a handler is given.
 *
 * @typeParam Xs what each middleware of the procedure's own `use` adds
 */
export type HandlerContext<
  E extends Env,
  State,
  Errors,
  Xs extends readonly object[] = readonly object[],
> = Extended<CallContext<State, Errors, AuthOf<E>>, Later<AddedOf<E>, AddedBy<Xs>>>;

/** The environment with an `auth` that every type of `auth` accepts. */
export type AnyAuth<E extends Env> = E & { readonly auth: never };

/** What the middleware and the handlers of a router are given. */
export type BaseContext<E extends Env> = HandlerContext<E, StateOf<E>, Record<never, never>>;

/** The context of a router's handlers, for methods and functions that are written apart: `ContextOf<typeof router>`. */
export type ContextOf<R> = R extends { readonly '~env'?: infer E extends Env }
  ? BaseContext<E>
  : never;

/** The environment behind a middleware that adds `X`. What it says of `auth` and `state` takes the place of what was known. */
export type With<E extends Env, X extends object> =
  AddsNothing<X> extends true
    ? E
    : {
        readonly auth: X extends { readonly auth: infer Auth } ? Auth : AuthOf<E>;
        readonly state: X extends { readonly state: infer State } ? State : StateOf<E>;
        readonly '~added': Flat<Omit<AddedOf<E>, keyof X> & Omit<X, 'auth' | 'state'>>;
      };

/** A middleware that only replies adds `never`: nothing comes behind it. */
type AddsNothing<X> = [X] extends [never] ? true : keyof X extends never ? true : false;

type Flat<T> = { readonly [Key in keyof T]: T[Key] };
