import { type TSchema, Type } from '@sinclair/typebox';
import { clockMs } from '../base/clock.ts';
import { isThenable } from '../base/value-kinds.ts';
import type { LazyContext } from './lazy-context.ts';
import {
  type Authorize,
  assertNothing,
  type Ended,
  isPassed,
  type Link,
  type Middleware,
  type Next,
  Passed,
} from './middleware.ts';
import { assertCallable } from './registration.ts';
import type { Procedure } from './types.ts';

/** What runs before a handler, as `invoke` wants it. */
export type LinkMembers = Pick<Procedure, 'links' | 'authorize' | 'chain'>;

export function linkMembers(links: readonly Link[]): LinkMembers {
  const [first] = links;
  // The usual procedures, those with an `authorize` and nothing else among them, need no chain.
  if (first === undefined) return { links, authorize: undefined, chain: undefined };
  if (links.length === 1 && first.kind === 'authorize') {
    return { links, authorize: first.run, chain: undefined };
  }
  return { links, authorize: undefined, chain: links };
}

export function linksOf(
  authorize: Authorize | undefined,
  use: readonly Middleware[] | undefined,
): Link[] {
  const links: Link[] = (use ?? []).map((run) => ({ kind: 'use', run }));
  if (authorize !== undefined) links.unshift({ kind: 'authorize', run: authorize });
  return links;
}

/**
 * The procedure with `outer` before its own links. A function that comes twice runs once, at its first place: a
 * procedure that a router has made has that router's links already when it is registered there.
 */
export function addLinks(outer: readonly Link[], procedure: Procedure): Procedure {
  if (outer.length === 0) return procedure;
  const front = linkMembers(distinct([...outer, ...procedure.links]));
  // The links read the context even if the handler can't.
  return Object.freeze({ ...procedure, ...front, ignoresContext: false });
}

export function distinct(links: readonly Link[]): readonly Link[] {
  const seen = new Set<unknown>();
  return links.filter(({ run }) => !seen.has(run) && seen.add(run));
}

export function assertMiddleware(value: unknown, where: string): asserts value is Middleware {
  assertCallable(value, where, 'a middleware');
}

/** The schema of the option `use`. */
export function useList(): TSchema {
  return Type.Array(Type.Unknown(), { description: 'a list of middleware functions' });
}

export function assertUseList(list: readonly unknown[], where: string): void {
  // By index: forEach leaves out holes.
  for (let i = 0; i < list.length; i++) assertMiddleware(list[i], `${where}: use[${i}]`);
}

function nameOf({ run }: Link): string {
  return run.name === '' ? '(a function without a name)' : run.name;
}

type Step = Passed | Promise<Passed>;

/**
 * Runs a call through the links of its procedure and its handler. Synchronous if all of them are.
 *
 * @param params validated
 * @throws what a link or the handler throws; TypeError for a link that breaks the rules
 */
export function runChain(
  procedure: Procedure,
  chain: readonly Link[],
  params: Record<string, unknown>,
  context: LazyContext,
): Step {
  const run = new ChainRun(procedure, chain, params, context);
  const passed = run.step(0);
  run.isLater = true;
  return passed;
}

class ChainRun {
  /** The synchronous part of the call has ended: what runs now, runs after a wait. */
  isLater = false;
  readonly #procedure: Procedure;
  readonly #chain: readonly Link[];
  readonly #params: Record<string, unknown>;
  readonly #context: LazyContext;

  constructor(
    procedure: Procedure,
    chain: readonly Link[],
    params: Record<string, unknown>,
    context: LazyContext,
  ) {
    this.#procedure = procedure;
    this.#chain = chain;
    this.#params = params;
    this.#context = context;
  }

  step(index: number): Step {
    // The caller has gone, or was answered at the deadline.
    if (this.isLater && this.#context.signal.aborted) throw this.#context.signal.reason;
    const link = this.#chain[index];
    if (link === undefined) return this.#handle();
    return link.kind === 'use' ? this.#use(link, index) : this.#authorize(link.run, index);
  }

  #authorize(run: (context: never, params: never) => unknown, index: number): Step {
    const permission = run(this.#context as never, this.#params as never);
    if (isThenable(permission)) {
      return Promise.resolve(permission).then((settled) => {
        assertNothing(settled);
        return this.step(index + 1);
      });
    }
    assertNothing(permission);
    return this.step(index + 1);
  }

  #use(link: Link & { readonly run: Middleware }, index: number): Step {
    let isCalled = false;
    let hasEnded = false;
    let fault: TypeError | undefined;
    // Kept as well as thrown: a middleware that catches it must not get away with it.
    const fail = (what: string): never => {
      fault ??= new TypeError(`the middleware ${nameOf(link)} ${what}`);
      throw fault;
    };
    const next = (add?: unknown, onEnd?: (ended: Ended) => unknown): Step => {
      if (isCalled) fail('called next twice');
      if (hasEnded) fail('called next after it had ended');
      isCalled = true;
      const refused = addMembers(this.#context as object as Record<string, unknown>, add);
      if (refused !== undefined) fail(refused);
      if (onEnd !== undefined && typeof onEnd !== 'function') {
        fail(`gave next ${kindOf(onEnd)} as onEnd: give it a function`);
      }
      const passed =
        onEnd === undefined ? this.step(index + 1) : this.#watched(link, index + 1, onEnd);
      // A middleware may answer without waiting for this promise. Its rejection must not end the process then.
      if (passed instanceof Promise) passed.catch(() => {});
      return passed;
    };
    const end = (returned: unknown): Passed => {
      hasEnded = true;
      if (fault !== undefined) throw fault;
      if (isPassed(returned)) return returned;
      return fail(`returned ${kindOf(returned)}: return what next() gives, or reply(value)`);
    };
    const give = (error: unknown): never => {
      hasEnded = true;
      throw fault ?? error;
    };
    let returned: unknown;
    try {
      returned = link.run(this.#context, next as Next, this.#params);
    } catch (error) {
      return give(error);
    }
    return isPassed(returned) || !isThenable(returned)
      ? end(returned)
      : Promise.resolve(returned).then(end, give);
  }

  /** Runs what comes after a link, and tells the link how it ended. */
  #watched(link: Link, index: number, onEnd: (ended: Ended) => unknown): Step {
    const tell = (ended: Ended): void => {
      const told = onEnd(ended);
      if (!isThenable(told)) return;
      Promise.resolve(told).catch(() => {});
      throw new TypeError(
        `onEnd of the middleware ${nameOf(link)} returned a promise: wait with await next() instead`,
      );
    };
    const good = (passed: Passed): Passed => {
      tell({ ok: true, result: passed.result });
      return passed;
    };
    const bad = (error: unknown): never => {
      tell({ ok: false, error });
      throw error;
    };
    let passed: Step;
    try {
      passed = this.step(index);
    } catch (error) {
      return bad(error);
    }
    return passed instanceof Promise ? passed.then(good, bad) : good(passed);
  }

  #handle(): Step {
    const context = this.#context;
    const began = this.isLater ? clockMs() : 0;
    const result: unknown = this.#procedure.handler(this.#params as never, context as never);
    if (this.isLater) context.resumedMs += clockMs() - began;
    return isThenable(result)
      ? Promise.resolve(result).then((settled) => new Passed(settled))
      : new Passed(result);
  }
}

/**
 * Adds the members to the context of a call.
 *
 * @returns why not; undefined: they were added
 */
function addMembers(context: Record<string, unknown>, add: unknown): string | undefined {
  if (add === undefined) return undefined;
  if (typeof add !== 'object' || add === null || Array.isArray(add)) {
    return `gave next ${kindOf(add)}: give it an object of members for the context`;
  }
  const members = add as Readonly<Record<string, unknown>>;
  for (const name of Object.keys(members)) {
    const value = members[name];
    if (name === 'auth' || name === 'state') {
      // An assignment would meet the getter of the class.
      Object.defineProperty(context, name, { value, enumerable: true, configurable: true });
    } else if (name in context && !Object.hasOwn(context, name)) {
      // The members of a context are inherited; its own ones were added by middleware.
      return `would replace context.${name}: only auth and state may be replaced; choose another name`;
    } else {
      context[name] = value;
    }
  }
  return undefined;
}

function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : `a value of type ${typeof value}`;
}
