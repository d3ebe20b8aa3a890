import type { Authorize } from '../authorize.ts';
import { assertCallable } from '../callable.ts';
import { RegistrationError } from '../registration-error.ts';
import type { Procedure } from '../types.ts';
import type { Link, Middleware } from './middleware.ts';

/** What runs in front of a handler, as `invoke` wants it. */
export type Front = Pick<Procedure, 'links' | 'authorize' | 'chain'>;

/** @param links in the order in which they run */
export function frontOf(links: readonly Link[]): Front {
  const [first] = links;
  // The usual procedures, those with an `authorize` and nothing else among them, need no chain.
  if (first === undefined) return { links, authorize: undefined, chain: undefined };
  if (links.length === 1 && first.kind === 'authorize') {
    return { links, authorize: first.run, chain: undefined };
  }
  return { links, authorize: undefined, chain: links };
}

/** The links of one level: its `authorize` comes first. */
export function linksOf(
  authorize: Authorize | undefined,
  use: readonly Middleware[] | undefined,
): Link[] {
  const links: Link[] = (use ?? []).map((run) => ({ kind: 'use', run }));
  if (authorize !== undefined) links.unshift({ kind: 'authorize', run: authorize });
  return links;
}

/**
 * The procedure with `outer` in front of its own links. A function that comes twice runs once, where it comes first: a
 * procedure that a router has made has that router's links already when it is registered there.
 */
export function behind(outer: readonly Link[], procedure: Procedure): Procedure {
  if (outer.length === 0) return procedure;
  const front = frontOf(distinct([...outer, ...procedure.links]));
  // The links read the context even where the handler can't.
  return Object.freeze({ ...procedure, ...front, ignoresContext: false });
}

/** The links without those whose function has come before. */
export function distinct(links: readonly Link[]): readonly Link[] {
  const seen = new Set<unknown>();
  return links.filter(({ run }) => !seen.has(run) && seen.add(run));
}

/** @throws RegistrationError */
export function assertMiddleware(value: unknown, where: string): asserts value is Middleware {
  assertCallable(value, where, 'a middleware');
}

/** @throws RegistrationError */
export function assertUseList(
  value: unknown,
  where: string,
): asserts value is readonly Middleware[] {
  if (!Array.isArray(value)) {
    throw new RegistrationError(`${where}: option use must be a list of middleware functions`);
  }
  // By index: forEach leaves out holes.
  for (let i = 0; i < value.length; i++) assertMiddleware(value[i], `${where}: use[${i}]`);
}

/** The name of a link's function, for messages. */
export function nameOf({ run }: Link): string {
  return run.name === '' ? '(a function without a name)' : run.name;
}
