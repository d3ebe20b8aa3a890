import { shown } from './callable.ts';
import type { BaseContext, Env, With } from './env.ts';
import { type ContractFrom, leavesOf, type ProcedureTree } from './from.ts';
import { linksOfMerge, type MergeOptions, type ReplaceOptions } from './merge-options.ts';
import { assertMiddleware, behind, distinct } from './middleware/link.ts';
import type { Link, Middleware } from './middleware/middleware.ts';
import { assertName } from './names.ts';
import { createProcedure, isProcedure, type MakeProcedure, renamed } from './procedure.ts';
import { RegistrationError } from './registration-error.ts';
import {
  type AnyRouter,
  brand,
  createState,
  install,
  type ProcedureSource,
  type RouterOwner,
  type RouterState,
} from './router-state.ts';
import { createRpc, type Rpc } from './rpc.ts';
import type { Procedure } from './types.ts';

/**
 * A table of procedures by name.
 *
 * @typeParam E the types that the handlers rely on, see {@link Env}
 * @typeParam C the contract of the procedures that `Router.from` was given
 */
export class Router<E extends Env = Env, C = unknown> implements AnyRouter {
  /** @internal */
  readonly [brand]: RouterState = createState();

  /** Exists only in the type. */
  declare readonly '~contract'?: C;

  /** Exists only in the type. */
  declare readonly '~env'?: E;

  /** Registers a procedure; see {@link Rpc} for its forms. */
  readonly rpc: Rpc<E> = createRpc((name, procedure) => {
    this.register(name, procedure);
  });

  /**
   * Makes a procedure without registering it, for `Router.from`, say: `procedure` with the types and the middleware of
   * this router.
   */
  readonly procedure: MakeProcedure<E> = createProcedure(() => {
    this[brand].isInUse = true;
    return this[brand].links;
  });

  /** True for a router of this or of another copy of the package. Never throws. */
  static is(value: unknown): value is AnyRouter {
    try {
      if (typeof value !== 'object' || value === null) return false;
      const state = (value as Partial<AnyRouter>)[brand];
      return state?.table instanceof Map && Array.isArray(state.links);
    } catch {
      return false; // a proxy or a getter that throws
    }
  }

  /**
   * Makes a router of an object of procedures. The name of a procedure is its path in the object:
   * `{ math: { add } }` gives `math.add`. The type of the router holds the contract of the procedures, see
   * `ContractOf<typeof router>` of tandem-rpc/client.
   *
   * @param tree procedures, routers, and objects of them
   * @throws RegistrationError for a path that is not a valid name, and for a value that is none of the three
   * @throws DuplicateProcedureError when two paths give one name
   */
  static from<Tree extends ProcedureTree>(tree: Tree): Router<Env, ContractFrom<Tree>> {
    const router = new Router<Env, ContractFrom<Tree>>();
    for (const [path, leaf] of leavesOf(tree, (value) => Router.is(value))) {
      if (isProcedure(leaf)) router.register(path, leaf);
      else router.merge(leaf, `${path}.`);
    }
    return router;
  }

  /**
   * Puts a middleware in front of every procedure that this router is going to have, behind the middleware that it has
   * already. Changes this router, and returns it with what the middleware adds in its type.
   *
   * @throws RegistrationError for what is no function, and for a router that has procedures, or has made one, already:
   *   they would run without the middleware
   */
  use<X extends object>(
    middleware: Middleware<BaseContext<E>, X>,
    ...others: never[]
  ): Router<With<E, X>, C> {
    assertMiddleware(middleware, 'use');
    if (others.length > 0) {
      throw new RegistrationError('use takes one middleware; call it once for each');
    }
    const state = this[brand];
    if (state.owner !== undefined) {
      throw new RegistrationError(
        'use: the procedures of this router come from the modules that are served; call use on the router of a module',
      );
    }
    if (state.isInUse) {
      throw new RegistrationError(
        `use: this router has procedures already, which would run without ${middleware.name === '' ? 'this middleware' : shown(middleware.name)}; call use before the first procedure`,
      );
    }
    state.links = distinct([...state.links, { kind: 'use', run: middleware as Middleware }]);
    // The same object: what the middleware adds exists only in the type.
    return this as unknown as Router<With<E, X>, C>;
  }

  get size(): number {
    return this[brand].table.size;
  }

  /**
   * Registers a procedure that `procedure(options, handler)` made.
   *
   * @throws RegistrationError for an invalid name
   * @throws DuplicateProcedureError when the name is taken
   */
  register(name: string, procedure: Procedure, options: ReplaceOptions = {}): void {
    assertName(name, 'register');
    if (!isProcedure(procedure)) {
      throw new RegistrationError(
        `register: ${JSON.stringify(name)} needs what procedure(options, handler) returns; for a function use rpc`,
      );
    }
    install(this, [{ name, procedure, source: undefined }], options);
  }

  /**
   * Takes over the procedures that `other` has now, each under `prefix` followed by its name. A call of one of them runs
   * through the middleware of this router, the `authorize` and the `use` of `options`, then the middleware of `other`.
   * Where one of the names is taken, nothing changes.
   *
   * @throws RegistrationError, DuplicateProcedureError
   */
  merge<Xs extends readonly object[] = readonly object[]>(
    other: AnyRouter,
    prefix = '',
    options: MergeOptions<E, Xs> = {},
  ): void {
    if (!Router.is(other))
      throw new RegistrationError('merge: the first argument must be a Router');
    if (typeof prefix !== 'string') {
      throw new RegistrationError(`merge: the prefix must be a string, got ${typeof prefix}`);
    }
    const front = linksOfMerge(options);
    const sources = sourcesOf(other);
    const entries = [...tableOf(other)].map(([own, procedure]) => {
      const name = prefix + own;
      assertName(name, 'merge');
      const source = sources.get(own);
      return {
        name,
        procedure: behind(front, procedure),
        source: source && { ...source, added: distinct([...front, ...source.added]) },
      };
    });
    install(this, entries, options);
  }

  get(name: string): Procedure | undefined {
    return this[brand].table.get(name);
  }

  /** The names, in the order of their registration. */
  list(): string[] {
    return [...this[brand].table.keys()];
  }

  /**
   * Replaces the procedures that came from a module by those that the module has now, in one step. Where the router
   * doesn't know which procedures came from it, all are replaced. A served router reloads its replicas too.
   *
   * @returns false when neither the module nor anything it imports has changed
   * @throws what the module throws; the old procedures then stay
   */
  async reloadModule(path: string): Promise<boolean> {
    const { owner } = this[brand];
    if (owner !== undefined) return owner.reload(path);
    return reloader(this, path);
  }
}

// What follows is for the rest of this package: not exported from its index.

/**
 * The router's own table, not a copy. Names may be added to it later, but no entry in it ever changes. Call this
 * again after {@link versionOf} has grown.
 */
export function tableOf(router: AnyRouter): ReadonlyMap<string, Procedure> {
  return router[brand].table;
}

/** What the router puts in front of every procedure. */
export function linksOfRouter(router: AnyRouter): readonly Link[] {
  return router[brand].links;
}

/** Where each procedure came from. A name without an entry came from no known module. */
export function sourcesOf(router: AnyRouter): ReadonlyMap<string, ProcedureSource> {
  return router[brand].sources;
}

/**
 * Replaces all of the router's procedures in one step. The name of each is its key in `table`. They have in front of
 * them what they are given with: the router adds nothing.
 *
 * @param links what the router puts in front of procedures to come; undefined: what it did before
 * @throws RegistrationError for a key that is not a valid name; then nothing has changed
 */
export function replaceTable(
  router: AnyRouter,
  table: ReadonlyMap<string, Procedure>,
  sources: ReadonlyMap<string, ProcedureSource>,
  links?: readonly Link[],
): void {
  const next = new Map<string, Procedure>();
  for (const [name, procedure] of table) {
    assertName(name, 'router');
    next.set(name, renamed(procedure, name));
  }
  const state = router[brand];
  state.table = next;
  state.sources = new Map(sources);
  state.links = links ?? state.links;
  state.isInUse = true;
  state.version += 1;
}

/** Grows with every change of the router. Keep what you derive from a router together with this number. */
export function versionOf(router: AnyRouter): number {
  return router[brand].version;
}

/** When the router was created, Unix milliseconds with a fraction. */
export function createdAt(router: AnyRouter): number {
  return router[brand].createdAt;
}

let reloader: (router: AnyRouter, path: string) => Promise<boolean> = () =>
  Promise.reject(
    new Error('reloadModule: import the package itself, which knows how modules are loaded'),
  );

/** Sets what `reloadModule` does for routers without an owner. Injected, since the module loader imports this file. */
export function setReloader(reload: typeof reloader): void {
  reloader = reload;
}

/** Sets who does the work of `reloadModule` from now on; undefined: the router itself. */
export function setOwner(router: AnyRouter, owner: RouterOwner | undefined): void {
  router[brand].owner = owner;
}
