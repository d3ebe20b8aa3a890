import { statSync } from 'node:fs';
import { StartupError } from '../base/startup-error.ts';
import { addLinks, distinct } from '../procedures/chain.ts';
import type { Link } from '../procedures/middleware.ts';
import type { ProcedureSource } from '../procedures/router.ts';
import {
  type AnyRouter,
  createdAt,
  linksOfRouter,
  replaceTable,
  sourcesOf,
  tableOf,
} from '../procedures/router.ts';
import type { Procedure } from '../procedures/types.ts';
import { type Files, graphOf } from './import-graph.ts';
import { loadModules } from './loader.ts';
import { locateModule, type ModuleFile, SourceFiles } from './module-files.ts';
import { lastLoad, noteLoad } from './module-router.ts';

export type { Files } from './import-graph.ts';
export { type LoadedModules, loadModules } from './loader.ts';

const running = new WeakMap<AnyRouter, Promise<unknown>>();

/**
 * Replaces the procedures that `router` has from a module by those that the module has now, in one step. If the
 * router doesn't know which procedures came from the module, all are replaced. One reload of a router runs at a time.
 *
 * If the old copy of the module had a state, the `setup()` of the new copy runs before the step. The `teardown` of
 * the old copy does not run: calls may still use its state, and only the owner of the router knows when they have ended.
 *
 * ES modules can't be unloaded: each generation stays in the memory of this thread, with its module-level data (about
 * 20 KB of heap for a module of a few lines, measured on Node 20).
 *
 * @returns false when neither the module nor anything it imports has changed
 * @throws StartupError; the old procedures then stay
 */
export function reloadInto(router: AnyRouter, path: string): Promise<boolean> {
  const before = running.get(router) ?? Promise.resolve();
  const result = before.then(() => reload(router, path));
  running.set(
    router,
    result.catch(() => {}),
  );
  return result;
}

async function reload(router: AnyRouter, path: string): Promise<boolean> {
  const file = locateModule(path);
  const last = lastLoad(router, file.url);
  const known = last === undefined ? undefined : graphOf(last.entry);
  if (
    known?.complete === true &&
    (await new SourceFiles(() => known.files).changed()) === undefined
  )
    return false;
  const fresh = await loadModules([path], { generation: 1 });
  const load = lastLoad(fresh.router, file.url);
  // A module that was imported before its files were recorded is judged by their times. A router that has nothing yet
  // has nothing of the module, however old the files are.
  const since = Math.min(createdAt(router), createdAt(last?.own ?? router)) - clockTickMs;
  if (known?.complete !== true && router.size > 0 && modifiedAt(fresh.files) < since) {
    if (load !== undefined) noteLoad(router, file.url, load);
    return false;
  }
  const procedures = ownNames(router, file).map((name) => tableOf(router).get(name));
  if (procedures.some((one) => one?.moduleState !== undefined)) await fresh.setup();
  let own = last?.own;
  if (own === undefined && procedures.some((one) => one?.links.length !== 0)) {
    // The router that the plain import of the module has, as a program that merged it has imported it.
    const first = await loadModules([path], { generation: 0 });
    own = lastLoad(first.router, file.url)?.own;
  }
  // Composed after the last `await`, so that procedures that were registered meanwhile are kept.
  const { table, sources } = renew(router, fresh.router, file, own);
  // Whether the links of `router` are those of the module: it is the module's router, or took them at an earlier reload.
  const isOwn =
    own !== undefined && router.size > 0 && linksOfRouter(router) === linksOfRouter(own);
  replaceTable(router, table, sources, isOwn ? load && linksOfRouter(load.own) : undefined);
  if (load !== undefined) noteLoad(router, file.url, load);
  return true;
}

/** File times lag behind the clock by up to one tick of the kernel. */
const clockTickMs = 5;

/** When the newest of the files was written, Unix milliseconds; Infinity if one has gone. */
function modifiedAt(files: Files): number {
  const times = Array.from(files.keys(), (path) => {
    return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY;
  });
  return Math.max(...times);
}

/** The names of the procedures that `router` has from the module; all names, if it doesn't know. */
function ownNames(router: AnyRouter, file: ModuleFile): string[] {
  const sources = sourcesOf(router);
  const recorded = router.list().filter((name) => sources.get(name)?.url === file.url);
  return recorded.length > 0 ? recorded : router.list();
}

/**
 * The next table of `router`: the procedures of the module are replaced by those of `fresh`, behind the links that
 * merges and outer routers have put in front of the old ones. A renewed procedure keeps its position, a new one comes
 * last.
 *
 * @param own the router that the old copy of the module made; undefined if no procedure has links
 * @throws StartupError if a procedure that is not the module's has a new name already
 */
function renew(router: AnyRouter, fresh: AnyRouter, file: ModuleFile, own: AnyRouter | undefined) {
  const renewed = new Map<string, { procedure: Procedure; source: ProcedureSource }>();
  for (const prefix of prefixesOf(router, file)) {
    const addedTo = linksAdded(router, file, prefix, own);
    for (const [name, procedure] of tableOf(fresh)) {
      const added = addedTo(prefix + name);
      renewed.set(prefix + name, {
        procedure: addLinks(added, procedure),
        source: { url: file.url, name, added },
      });
    }
  }
  const old = new Set(ownNames(router, file));
  const table = new Map<string, Procedure>();
  const sources = new Map(sourcesOf(router));
  for (const [name, procedure] of tableOf(router)) {
    const next = renewed.get(name);
    if (old.has(name)) {
      sources.delete(name);
      if (next !== undefined) table.set(name, next.procedure);
      continue;
    }
    if (next !== undefined) {
      const url = sources.get(name)?.url;
      const from = url === undefined ? 'registered elsewhere' : `from ${url}`;
      throw new StartupError(
        `cannot reload ${file.given}: the router has another procedure ${JSON.stringify(name)} (${from}); rename one`,
      );
    }
    table.set(name, procedure);
  }
  for (const [name, { procedure, source }] of renewed) {
    table.set(name, procedure);
    sources.set(name, source);
  }
  return { table, sources };
}

/**
 * What was put in front of a procedure of the module since it left the module. A procedure that is new in the module
 * gets the links of all others under its prefix: too many of them rather than too few.
 */
function linksAdded(
  router: AnyRouter,
  file: ModuleFile,
  prefix: string,
  own: AnyRouter | undefined,
): (name: string) => readonly Link[] {
  const sources = sourcesOf(router);
  const known = new Map<string, readonly Link[]>();
  for (const name of ownNames(router, file)) {
    const recorded = sources.get(name)?.url === file.url ? sources.get(name)?.added : undefined;
    if (!name.startsWith(prefix)) continue;
    // Else those that the procedure has in `router` and not in the module's own router.
    const inner = (own && tableOf(own).get(name)?.links) ?? [];
    const links = tableOf(router).get(name)?.links ?? [];
    const beyond = links.filter(({ run }) => !inner.some((link) => link.run === run));
    known.set(name, recorded ?? beyond);
  }
  // A router without procedures of the module says by its own links what comes in front of them.
  const all = known.size === 0 ? linksOfRouter(router) : distinct([...known.values()].flat());
  return (name) => known.get(name) ?? all;
}

/** The prefixes that the module was merged under: `math.` where its `add` is `math.add` here. */
function prefixesOf(router: AnyRouter, file: ModuleFile): Set<string> {
  const prefixes = new Set<string>();
  for (const [name, source] of sourcesOf(router)) {
    if (source.url === file.url) prefixes.add(name.slice(0, name.length - source.name.length));
  }
  return prefixes.size > 0 ? prefixes : new Set(['']);
}
