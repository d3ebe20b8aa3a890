import { RegistrationError } from '../base/registration-error.ts';
import { shown } from '../base/text.ts';
import { isObject, isPlain } from '../base/value-kinds.ts';
import { aFunction, optionsCheck, yesOrNo } from '../schema/options.ts';
import { addLinks, assertMiddleware, assertUseList, distinct, linksOf, useList } from './chain.ts';
import type { BaseContext, Env, With } from './context.ts';
import type { ContractFrom, ProcedureTree } from './from.ts';
import type { Authorize, Link, Middleware, UseList } from './middleware.ts';
import { createProcedure, isProcedure, type MakeProcedure, renamed } from './procedure.ts';
import { assertCallable, assertName } from './registration.ts';
import { createRpc, type Rpc } from './rpc.ts';
import type { Procedure } from './types.ts';

/** Thrown for a name that is registered already. */
export class DuplicateProcedureError extends Error {
  override readonly name: string = 'DuplicateProcedureError';
  /** The name that both procedures have. */
  readonly key: string;

  constructor(key: string) {
    super(
      `a procedure named ${JSON.stringify(key)} is registered already; choose another name or prefix, or pass { replace: true } to register or merge`,
    );
    this.key = key;
  }
}

export interface ProcedureSource {
  readonly url: string;
  /** The procedure's name in that module's router: without the prefix of a merge. */
  readonly name: string;
  /** What routers have put before the procedure since it left that module. A reload keeps these links. */
  readonly added: readonly Link[];
}

/**
 * A global symbol, so that a router of another copy of this package (that of a globally installed command line, say)
 * is recognised and can be read.
 */
const brand: unique symbol = Symbol.for('tandem-rpc.Router') as typeof brand;

export interface RouterState {
  table: Map<string, Procedure>;
  sources: Map<string, ProcedureSource>;
  version: number;
  /** What `reloadModule` does while a service serves the router: the service reloads its workers too. */
  reload: ((path: string) => Promise<boolean>) | undefined;
  /** Called after all procedures were replaced in one step. */
  onReplaced?: (() => void) | undefined;
  /** What runs before every procedure. */
  links: readonly Link[];
  /** It has a procedure, or has made one: the links may not change any more. */
  isInUse: boolean;
  readonly createdAt: number;
}

/** A router of any environment. */
export interface AnyRouter {
  /** @internal */
  readonly [brand]: RouterState;
  readonly size: number;
  get(name: string): Procedure | undefined;
  list(): string[];
  reloadModule(path: string): Promise<boolean>;
}

/**
 * Puts procedures into a router, each after the router's links: all of them or none.
 *
 * @throws DuplicateProcedureError
 * @throws RegistrationError for a stream that nobody could leave by the name that it gives
 */
function install(
  router: AnyRouter,
  entries: readonly {
    readonly name: string;
    readonly procedure: Procedure;
    readonly source: ProcedureSource | undefined;
  }[],
  { replace = false }: ReplaceOptions,
): void {
  if (entries.length === 0) return;
  for (const { name, procedure } of entries) {
    if (procedure.stream?.unsubscribe === name) {
      throw new RegistrationError(
        `${JSON.stringify(name)}: option stream.unsubscribe names the procedure itself, whose call would be a new subscription; give it another name`,
      );
    }
  }
  const state = router[brand];
  const { links } = state;
  const taken = entries.find(({ name }) => state.table.has(name));
  if (taken !== undefined) {
    if (!replace) throw new DuplicateProcedureError(taken.name);
    // A running batch holds the old table, in which its procedures must stay.
    state.table = new Map(state.table);
    state.sources = new Map(state.sources);
  }
  for (const { name, procedure, source } of entries) {
    state.table.set(name, renamed(addLinks(links, procedure), name));
    if (source === undefined) state.sources.delete(name);
    else state.sources.set(name, { ...source, added: distinct([...links, ...source.added]) });
  }
  state.isInUse = true;
  state.version += 1;
}

export interface ReplaceOptions {
  /** Replace procedures that have the same name. Default: a taken name is an error. */
  readonly replace?: boolean | undefined;
}

/** @typeParam E the environment of the router that takes the procedures over */
export interface MergeOptions<E extends Env = Env, Xs extends readonly object[] = readonly object[]>
  extends ReplaceOptions {
  /** Asked before each call of these procedures, before `use` and of all that the procedures have already. */
  readonly authorize?: Authorize<Readonly<Record<string, unknown>>, BaseContext<E>> | undefined;
  /** Middleware before what the procedures have already. */
  readonly use?: UseList<E, Xs> | undefined;
}

const checkMergeOptions = optionsCheck<keyof MergeOptions>({
  replace: yesOrNo,
  authorize: aFunction,
  use: useList,
});

/** The links that a merge adds. */
function linksOfMerge(options: MergeOptions): readonly Link[] {
  checkMergeOptions(options, 'merge');
  const { authorize, use } = options;
  if (authorize !== undefined) assertCallable(authorize, 'merge', 'option authorize');
  if (use !== undefined) assertUseList(use, 'merge');
  return linksOf(authorize, use);
}

function treeFault(value: unknown, path: string): string {
  if (path === '')
    return 'the argument must be an object of procedures and routers, such as { math: router }';
  const hint = typeof value === 'function' ? '; make it one: procedure({ ... }, handler)' : '';
  return `${JSON.stringify(path)} must be a procedure, a Router or an object of them${hint}`;
}

/**
 * A table of procedures by name.
 *
 * @typeParam E the types that the handlers rely on, see {@link Env}
 * @typeParam C the contract of the procedures that `Router.from` was given
 */
export class Router<E extends Env = Env, C = unknown> implements AnyRouter {
  /** @internal */
  readonly [brand]: RouterState = {
    table: new Map(),
    sources: new Map(),
    version: 0,
    reload: undefined,
    links: [],
    isInUse: false,
    createdAt: performance.timeOrigin + performance.now(),
  };

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
    const add = (node: unknown, path: string): void => {
      if (path !== '' && isProcedure(node)) router.register(path, node);
      else if (path !== '' && Router.is(node)) router.merge(node, `${path}.`);
      // A module's namespace is a plain object too: `import * as math`, then `Router.from({ math })`.
      else if (isObject(node) && isPlain(node) && !isProcedure(node)) {
        for (const [name, child] of Object.entries(node)) {
          const inner = path === '' ? name : `${path}.${name}`;
          // Checked here as well as at registration: the limit of a name's length ends an object that holds itself.
          assertName(inner, 'Router.from');
          add(child, inner);
        }
      } else throw new RegistrationError(`Router.from: ${treeFault(node, path)}`);
    };
    add(tree, '');
    return router;
  }

  /**
   * Puts a middleware before every procedure that this router is going to have, after the middleware that it has
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
    if (state.reload !== undefined) {
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
    const front = linksOfMerge(options as MergeOptions);
    const sources = sourcesOf(other);
    const entries = [...tableOf(other)].map(([own, procedure]) => {
      const name = prefix + own;
      assertName(name, 'merge');
      const source = sources.get(own);
      return {
        name,
        procedure: addLinks(front, procedure),
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
    const { reload } = this[brand];
    if (reload !== undefined) return reload(path);
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

export function linksOfRouter(router: AnyRouter): readonly Link[] {
  return router[brand].links;
}

/** Where each procedure came from. A name without an entry came from no known module. */
export function sourcesOf(router: AnyRouter): ReadonlyMap<string, ProcedureSource> {
  return router[brand].sources;
}

/**
 * Replaces all of the router's procedures in one step. The name of each is its key in `table`. They have before
 * them what they are given with: the router adds nothing.
 *
 * @param links what the router puts before procedures to come; undefined: what it did before
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
  state.onReplaced?.();
}

/** Has `listener`, one for each router, called after each reload of a router that is served. */
export function onReplaced(router: AnyRouter, listener: () => void): void {
  router[brand].onReplaced = listener;
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

/** Sets what `reloadModule` does for routers that no service serves. Injected, since the module loader imports this file. */
export function setReloader(reload: typeof reloader): void {
  reloader = reload;
}

/** Sets what `reloadModule` of this router does from now on; undefined: what it does for every other router. */
export function setServedReload(
  router: AnyRouter,
  reload: ((path: string) => Promise<boolean>) | undefined,
): void {
  router[brand].reload = reload;
}

/** The router of programs that need only one. */
export const defaultRouter = new Router();

/** `defaultRouter.rpc`. */
export const rpc: Rpc = defaultRouter.rpc;
