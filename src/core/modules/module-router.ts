import { StartupError } from '../base/startup-error.ts';
import type { Link } from '../procedures/middleware.ts';
import {
  type AnyRouter,
  linksOfRouter,
  Router,
  replaceTable,
  sourcesOf,
  tableOf,
} from '../procedures/router.ts';
import type { Procedure } from '../procedures/types.ts';

type Table = ReadonlyMap<string, Procedure>;
type Exports = Readonly<Record<string, unknown>>;

export interface ModuleRouter {
  readonly table: Table;
  readonly router: AnyRouter;
}

/** The export of a module with that name. The exports of CommonJS may be members of its default export only. */
export function exportOf(namespace: Exports, name: string): unknown {
  if (name in namespace) return namespace[name];
  const { default: whole } = namespace;
  if (typeof whole !== 'object' || whole === null || Router.is(whole)) return undefined;
  return (whole as Exports)[name];
}

/** Finds the procedures that one module adds to `defaultRouter`. Created before the module is imported. */
export class DefaultRouterWatch {
  readonly #router: AnyRouter;
  readonly #before: Table;
  readonly #linksBefore: readonly Link[];

  constructor(router: AnyRouter) {
    this.#router = router;
    this.#before = new Map(tableOf(router));
    this.#linksBefore = linksOfRouter(router);
  }

  /**
   * The Router of the module: its default export, its export named `router`, else the procedures that the module added
   * to `defaultRouter`.
   *
   * @throws StartupError
   */
  find(namespace: Exports, given: string, url: string): ModuleRouter {
    try {
      return this.#find(namespace, given, url);
    } catch (error) {
      if (error instanceof StartupError) throw error;
      // The export is a getter or a proxy.
      throw new StartupError(`cannot use ${given}: an export that is looked at throws`, {
        cause: error,
      });
    }
  }

  #find(namespace: Exports, given: string, url: string): ModuleRouter {
    const exported = this.#exported(namespace, given);
    if (exported !== undefined && exported !== this.#router) {
      return { table: tableOf(exported), router: exported };
    }
    const { table, added } = this.#filledBy(url);
    if (table.size === 0 && exported === undefined) {
      const { default: whole } = namespace;
      const misnamed = Object.keys(namespace).find((name) => Router.is(exportOf(namespace, name)));
      const isDefault = whole === undefined ? '' : ` (its default export is ${kindOf(whole)})`;
      const found =
        misnamed === undefined ? isDefault : ` (its export ${JSON.stringify(misnamed)} is one)`;
      throw new StartupError(
        `no Router in ${given}${found}: export one as default, or as "router", or register on defaultRouter with rpc`,
      );
    }
    const sources = new Map(sourcesOf(this.#router));
    for (const name of table.keys()) {
      if (sources.get(name)?.url !== url) sources.set(name, { url, name, added });
    }
    replaceTable(this.#router, tableOf(this.#router), sources);
    return { table, router: this.#router };
  }

  #exported(namespace: Exports, given: string): AnyRouter | undefined {
    const { default: whole } = namespace;
    if (Router.is(whole)) return whole;
    const inner = exportOf(namespace, 'default');
    // In CommonJS that TypeScript compiled, `export default` is a member of module.exports.
    const nested = inner === whole ? (inner as { default?: unknown } | null)?.default : inner;
    if (Router.is(nested)) return nested;
    const named = exportOf(namespace, 'router');
    if (named === undefined || Router.is(named)) return named;
    throw new StartupError(
      `cannot use ${given}: its export "router" is ${kindOf(named)}, not a Router; export new Router()`,
    );
  }

  /** The module's procedures, and the links in front of them that are not the module's own. */
  #filledBy(url: string): { readonly table: Table; readonly added: readonly Link[] } {
    const sources = sourcesOf(this.#router);
    const all = [...tableOf(this.#router)];
    const added = all.filter(([name, procedure]) => this.#before.get(name) !== procedure);
    if (added.length > 0) return { table: new Map(added), added: this.#linksBefore };
    // The module was imported before: take what it is known to have added, else what no known module has added.
    const known = all.filter(([name]) => sources.get(name)?.url === url);
    const table = new Map(known.length > 0 ? known : all.filter(([name]) => !sources.has(name)));
    // Nobody knows which of the links are the module's. A reload keeps too many of them rather than too few.
    return { table, added: linksOfRouter(this.#router) };
  }
}

export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value !== 'object') return value === undefined ? 'undefined' : `a ${typeof value}`;
  const name = (value as { constructor?: { name?: unknown } }).constructor?.name;
  return typeof name === 'string' && name !== '' ? `an instance of ${name}` : 'an object';
}

interface ModuleLoad {
  /** The module's URL with its generation. The graph of this URL has the files that the procedures came from. */
  readonly entry: string;
  /** The module's own router, created when the module ran. */
  readonly own: AnyRouter;
}

const loads = new WeakMap<AnyRouter, Map<string, ModuleLoad>>();
/** First load of each module, for routers that somebody merged from the exports of a module of generation 0. */
const firstLoads = new Map<string, ModuleLoad>();

/** Remembers from which load of a module (named by its URL) the procedures of a router came. */
export function noteLoad(router: AnyRouter, url: string, load: ModuleLoad): void {
  const known = loads.get(router) ?? new Map<string, ModuleLoad>();
  loads.set(router, known.set(url, load));
  if (load.entry === url && !firstLoads.has(url)) firstLoads.set(url, load);
}

export function lastLoad(router: AnyRouter, url: string): ModuleLoad | undefined {
  return loads.get(router)?.get(url) ?? firstLoads.get(url);
}
