import type { Router } from '../router/router.ts';

export interface ModuleLoad {
  /** URL with generation: its graph is what the router's procedures of that module came from. */
  readonly entry: string;
  /** The module's own router: it was made when the module ran. */
  readonly own: Router;
}

const loads = new WeakMap<Router, Map<string, ModuleLoad>>();
/** For routers that were merged by hand from what a module of generation 0 exported. */
const firstLoads = new Map<string, ModuleLoad>();

/** Remembers which copy of a module (by its URL) a router's procedures came from. */
export function noteLoad(router: Router, url: string, load: ModuleLoad): void {
  const known = loads.get(router) ?? new Map<string, ModuleLoad>();
  loads.set(router, known.set(url, load));
  if (load.entry === url && !firstLoads.has(url)) firstLoads.set(url, load);
}

export function lastLoad(router: Router, url: string): ModuleLoad | undefined {
  return loads.get(router)?.get(url) ?? firstLoads.get(url);
}
