import { type ContractFrom, leavesOf, type ProcedureTree } from './from.ts';
import { assertName } from './names.ts';
import { isProcedure, renamed } from './procedure.ts';
import { RegistrationError } from './registration-error.ts';
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

export interface ReplaceOptions {
  /** Replace procedures that have the same name. Default: a taken name is an error. */
  readonly replace?: boolean | undefined;
}

/** Does the work of `reloadModule` for a router that a service serves: the service reloads its replicas too. */
export interface RouterOwner {
  reload(path: string): Promise<boolean>;
}

/** Where a procedure came from. */
export interface ProcedureSource {
  /** The module's URL. */
  readonly url: string;
  /** The procedure's name in that module's router: without the prefix of a merge. */
  readonly name: string;
}

/**
 * A global symbol, so that a router of another copy of this package (that of a globally installed command line, say)
 * is recognised and can be read.
 */
const brand: unique symbol = Symbol.for('tandem-rpc.Router') as typeof brand;

interface RouterState {
  table: Map<string, Procedure>;
  sources: Map<string, ProcedureSource>;
  version: number;
  owner: RouterOwner | undefined;
  readonly createdAt: number;
}

/** A table of procedures by name. `C` is the contract of the procedures that `Router.from` was given. */
export class Router<C = unknown> {
  /** @internal */
  readonly [brand]: RouterState = {
    table: new Map(),
    sources: new Map(),
    version: 0,
    owner: undefined,
    createdAt: performance.timeOrigin + performance.now(),
  };

  /** Exists only in the type. */
  declare readonly '~contract'?: C;

  /** Registers a procedure; see {@link Rpc} for its forms. */
  readonly rpc: Rpc = createRpc((name, procedure) => {
    this.register(name, procedure);
  });

  /** True for a router of this or of another copy of the package. Never throws. */
  static is(value: unknown): value is Router {
    try {
      if (typeof value !== 'object' || value === null) return false;
      const state = (value as Partial<Router>)[brand];
      return state?.table instanceof Map && state.sources instanceof Map;
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
  static from<Tree extends ProcedureTree>(tree: Tree): Router<ContractFrom<Tree>> {
    const router = new Router<ContractFrom<Tree>>();
    for (const [path, leaf] of leavesOf(tree, (value) => Router.is(value))) {
      if (isProcedure(leaf)) router.register(path, leaf);
      else router.merge(leaf, `${path}.`);
    }
    return router;
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
   * Takes over the procedures that `other` has now, each under `prefix` followed by its name. Where one of the names
   * is taken, nothing changes.
   *
   * @throws RegistrationError, DuplicateProcedureError
   */
  merge(other: Router, prefix = '', options: ReplaceOptions = {}): void {
    if (!Router.is(other))
      throw new RegistrationError('merge: the first argument must be a Router');
    if (typeof prefix !== 'string') {
      throw new RegistrationError(`merge: the prefix must be a string, got ${typeof prefix}`);
    }
    const sources = sourcesOf(other);
    const entries = [...tableOf(other)].map(([own, procedure]) => {
      const name = prefix + own;
      assertName(name, 'merge');
      return { name, procedure, source: sources.get(own) };
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

interface Entry {
  readonly name: string;
  readonly procedure: Procedure;
  readonly source: ProcedureSource | undefined;
}

function install(
  router: Router,
  entries: readonly Entry[],
  { replace = false }: ReplaceOptions,
): void {
  if (entries.length === 0) return;
  const state = router[brand];
  const taken = entries.find(({ name }) => state.table.has(name));
  if (taken !== undefined) {
    if (!replace) throw new DuplicateProcedureError(taken.name);
    // A running batch holds the old table, in which its procedures must stay.
    state.table = new Map(state.table);
    state.sources = new Map(state.sources);
  }
  for (const { name, procedure, source } of entries) {
    state.table.set(name, renamed(procedure, name));
    if (source === undefined) state.sources.delete(name);
    else state.sources.set(name, source);
  }
  state.version += 1;
}

// What follows is for the rest of this package: not exported from its index.

/**
 * The router's own table, not a copy. Names may be added to it later, but no entry in it ever changes. Call this
 * again after {@link versionOf} has grown.
 */
export function tableOf(router: Router): ReadonlyMap<string, Procedure> {
  return router[brand].table;
}

/** Where each procedure came from. A name without an entry came from no known module. */
export function sourcesOf(router: Router): ReadonlyMap<string, ProcedureSource> {
  return router[brand].sources;
}

/**
 * Replaces all of the router's procedures in one step. The name of each is its key in `table`.
 *
 * @throws RegistrationError for a key that is not a valid name; then nothing has changed
 */
export function replaceTable(
  router: Router,
  table: ReadonlyMap<string, Procedure>,
  sources: ReadonlyMap<string, ProcedureSource>,
): void {
  const next = new Map<string, Procedure>();
  for (const [name, procedure] of table) {
    assertName(name, 'router');
    next.set(name, renamed(procedure, name));
  }
  const state = router[brand];
  state.table = next;
  state.sources = new Map(sources);
  state.version += 1;
}

/** Grows with every change of the router. Keep what you derive from a router together with this number. */
export function versionOf(router: Router): number {
  return router[brand].version;
}

/** When the router was created, Unix milliseconds with a fraction. */
export function createdAt(router: Router): number {
  return router[brand].createdAt;
}

let reloader: (router: Router, path: string) => Promise<boolean> = () =>
  Promise.reject(
    new Error('reloadModule: import the package itself, which knows how modules are loaded'),
  );

/** Sets what `reloadModule` does for routers without an owner. Injected, since the module loader imports this file. */
export function setReloader(reload: typeof reloader): void {
  reloader = reload;
}

/** Sets who does the work of `reloadModule` from now on; undefined: the router itself. */
export function setOwner(router: Router, owner: RouterOwner | undefined): void {
  router[brand].owner = owner;
}
