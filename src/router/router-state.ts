import type { ReplaceOptions } from './merge-options.ts';
import { behind, distinct } from './middleware/link.ts';
import type { Link } from './middleware/middleware.ts';
import { renamed } from './procedure.ts';
import { RegistrationError } from './registration-error.ts';
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
  /** What routers have put in front of the procedure since it left that module. A reload keeps these links. */
  readonly added: readonly Link[];
}

/**
 * A global symbol, so that a router of another copy of this package (that of a globally installed command line, say)
 * is recognised and can be read.
 */
export const brand: unique symbol = Symbol.for('tandem-rpc.Router') as typeof brand;

export interface RouterState {
  table: Map<string, Procedure>;
  sources: Map<string, ProcedureSource>;
  version: number;
  owner: RouterOwner | undefined;
  /** What runs in front of every procedure. */
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

export function createState(): RouterState {
  return {
    table: new Map(),
    sources: new Map(),
    version: 0,
    owner: undefined,
    links: [],
    isInUse: false,
    createdAt: performance.timeOrigin + performance.now(),
  };
}

/** A procedure that a router is to have. */
interface Entry {
  readonly name: string;
  readonly procedure: Procedure;
  readonly source: ProcedureSource | undefined;
}

/**
 * Files procedures in a router, behind its links: all of them or none.
 *
 * @throws DuplicateProcedureError
 * @throws RegistrationError for a stream that nobody could leave by the name that it gives
 */
export function install(
  router: AnyRouter,
  entries: readonly Entry[],
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
    state.table.set(name, renamed(behind(links, procedure), name));
    if (source === undefined) state.sources.delete(name);
    else state.sources.set(name, { ...source, added: distinct([...links, ...source.added]) });
  }
  state.isInUse = true;
  state.version += 1;
}
