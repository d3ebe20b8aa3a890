import type { Authorize } from './authorize.ts';
import { assertCallable, shown } from './callable.ts';
import type { BaseContext, Env } from './env.ts';
import { assertUseList, linksOf } from './middleware/link.ts';
import type { Link, Middleware, UseList } from './middleware/middleware.ts';
import { RegistrationError } from './registration-error.ts';

export interface ReplaceOptions {
  /** Replace procedures that have the same name. Default: a taken name is an error. */
  readonly replace?: boolean | undefined;
}

/** @typeParam E the environment of the router that takes the procedures over */
export interface MergeOptions<E extends Env = Env, Xs extends readonly object[] = readonly object[]>
  extends ReplaceOptions {
  /** Asked before each call of these procedures, in front of `use` and of all that the procedures have already. */
  readonly authorize?: Authorize<Readonly<Record<string, unknown>>, BaseContext<E>> | undefined;
  /** Middleware in front of what the procedures have already. */
  readonly use?: UseList<E, Xs> | undefined;
}

const known = ['replace', 'authorize', 'use'];

/**
 * The links that a merge adds. An option that nobody knows may be an `authorize` with a typing error in its name.
 *
 * @throws RegistrationError
 */
export function linksOfMerge(options: unknown): readonly Link[] {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new RegistrationError(`merge: the options must be an object, got ${shown(options)}`);
  }
  const odd = Object.keys(options).find((name) => !known.includes(name));
  if (odd !== undefined) {
    throw new RegistrationError(
      `merge: unknown option ${JSON.stringify(odd)}. Known: ${known.join(', ')}`,
    );
  }
  const { authorize, use } = options as { authorize?: unknown; use?: unknown };
  if (authorize !== undefined) assertCallable(authorize, 'merge', 'option authorize');
  if (use !== undefined) assertUseList(use, 'merge');
  return linksOf(authorize as Authorize | undefined, use as readonly Middleware[] | undefined);
}
