import { type ContractFrom, leavesOf, type ProcedureTree } from './from.ts';
import { assertName } from './names.ts';
import { isProcedure, renamed } from './procedure.ts';
import { RegistrationError } from './registration-error.ts';
import { createRpc, type Rpc } from './rpc.ts';
import type { Procedure } from './types.ts';

/** A name that is registered already. */
export class DuplicateProcedureError extends Error {
  override readonly name: string = 'DuplicateProcedureError';
  /** The name both have. */
  readonly key: string;

  constructor(key: string) {
    super(
      `a procedure named ${JSON.stringify(key)} is registered already; choose another name or prefix, or pass { replace: true } to register or merge`,
    );
    this.key = key;
  }
}

export interface ReplaceOptions {
  /** Take the place of procedures that have the same name. Default: that is an error. */
  readonly replace?: boolean | undefined;
}

/** Does the work of `reloadModule` for a router that is being served: its replicas change with it. */
export interface RouterOwner {
  reload(path: string): Promise<boolean>;
}

/** Where a procedure came from. */
export interface ProcedureSource {
  /** The module's URL. */
  readonly url: string;
  /** Its name in that module's router: its name here without the prefix of a merge. */
  readonly name: string;
}

/**
 * Global, so that a router of another copy of this package (a command line's own, say) is recognised and
 * can be read.
 */
const brand: unique symbol = Symbol.for('tandem-rpc.Router') as typeof brand;

interface RouterState {
  table: Map<string, Procedure>;
  sources: Map<string, ProcedureSource>;
  version: number;
  owner: RouterOwner | undefined;
  readonly createdAt: number;
}

/** A table of procedures by name. `C` is the contract of those that `Router.from` was given. */
export class Router<C = unknown> {
  /** @internal */
  readonly [brand]: RouterState = {
    table: new Map(),
    sources: new Map(),
    version: 0,
    owner: undefined,
    createdAt: performance.timeOrigin + performance.now(),
  };

  /** In types only: there is no such member. */
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
   * A router of one object of procedures, whose names are their paths in it: `{ math: { add } }` gives
   * `math.add`. Its type holds their contract: `ContractOf<typeof router>` of tandem-rpc/client.
   *
   * @param tree procedures, routers, and objects of them
   * @throws RegistrationError for a path that is no name, and for what is none of the three
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
   * Registers what `procedure(options, handler)` made.
   *
   * @throws RegistrationError for a name that is none
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
   * Takes over the procedures that `other` has now, each under `prefix` followed by its name. All or none:
   * where one name is taken, nothing changes.
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
   * Replaces the procedures this router has from a module (all of them, if it has no record of one) by
   * those the module has now, in one step. A served router reloads its replicas too.
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
    // A batch that runs holds the old table: what it has found there stays.
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
 * The procedures now, by reference: names may be added to it later, but none in it ever changes. Read it
 * anew after {@link versionOf} has grown.
 */
export function tableOf(router: Router): ReadonlyMap<string, Procedure> {
  return router[brand].table;
}

/** Where each procedure came from; a name without an entry was registered by no module that is known. */
export function sourcesOf(router: Router): ReadonlyMap<string, ProcedureSource> {
  return router[brand].sources;
}

/**
 * Replaces all of the router's procedures in one step. Each takes its key as its name.
 *
 * @throws RegistrationError for a key that is no name; nothing has changed then
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

/** Grows with every change: what is derived from a router is kept per version. */
export function versionOf(router: Router): number {
  return router[brand].version;
}

/** When the router was made, Unix milliseconds with a fraction. */
export function createdAt(router: Router): number {
  return router[brand].createdAt;
}

let reloader: (router: Router, path: string) => Promise<boolean> = () =>
  Promise.reject(
    new Error('reloadModule: import the package itself, which knows how modules are loaded'),
  );

/** Gives the routers that have no owner who does the work of `reloadModule`: loading a module needs this file. */
export function setReloader(reload: typeof reloader): void {
  reloader = reload;
}

/** Names who does the work of `reloadModule` from now on; undefined: the router itself. */
export function setOwner(router: Router, owner: RouterOwner | undefined): void {
  router[brand].owner = owner;
}
