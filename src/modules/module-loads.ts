import type { AnyRouter } from '../router/router-state.ts';

export interface ModuleLoad {
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
