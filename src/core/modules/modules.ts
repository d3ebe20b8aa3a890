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
 * Replaces the procedures that `router` has from a module by those that the module has now, in one step. Where the
 * router doesn't know which procedures came from the module, all are replaced. One reload of a router runs at a time.
 *
 * Where the old copy of the module had a state, the `setup()` of the new copy runs before the step. The `teardown` of
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
  const file = locateModule(path, process.cwd());
  const last = lastLoad(router, file.url);
  const known = last === undefined ? undefined : graphOf(last.entry);
  if (known?.complete === true && new SourceFiles(known.files).changed() === undefined)
    return false;
  const fresh = await loadModules([path], { generation: 1 });
  const load = lastLoad(fresh.router, file.url);
  if (known?.complete !== true) {
    const since = Math.min(createdAt(router), createdAt(last?.own ?? router));
    if (isUntouched(fresh.files, since, router, fresh.router, file)) {
      if (load !== undefined) noteLoad(router, file.url, load);
      return false;
    }
  }
  if (ownNames(router, file).some((name) => tableOf(router).get(name)?.moduleState !== undefined)) {
    await fresh.setup();
  }
  const own =
    last?.own ?? (haveLinks(router, file) ? await firstRouter(path, file.url) : undefined);
  // Composed after the last `await`, so that procedures that were registered meanwhile are kept.
  const { table, sources } = renew(router, fresh.router, file, own);
  replaceTable(
    router,
    table,
    sources,
    isOwn(router, own) ? load && linksOfRouter(load.own) : undefined,
  );
  if (load !== undefined) noteLoad(router, file.url, load);
  return true;
}

/** Whether the links of `router` are those of the module: it is the module's router, or took them at an earlier reload. */
function isOwn(router: AnyRouter, own: AnyRouter | undefined): boolean {
  if (own === undefined || router.size === 0) return false;
  return linksOfRouter(router) === linksOfRouter(own);
}

/** The router that the plain import of a module has, as a program that merged it has imported it. */
async function firstRouter(path: string, url: string): Promise<AnyRouter | undefined> {
  const { router } = await loadModules([path], { generation: 0 });
  return lastLoad(router, url)?.own;
}

/** File times lag behind the clock by up to one tick of the kernel. */
const clockTickMs = 5;

/**
 * Whether a module is unchanged that was imported before its files were recorded: none of the files was written after
 * the router was created. Within one tick of the clock that can't be told; then the procedures are compared.
 */
function isUntouched(
  files: Files,
  since: number,
  router: AnyRouter,
  fresh: AnyRouter,
  file: ModuleFile,
): boolean {
  const newest = Math.max(...[...files.keys()].map(modifiedAt));
  // A router that has nothing yet has nothing of the module, however old the files are.
  if (newest < since - clockTickMs && router.size > 0) return true;
  if (newest > since) return false;
  const now = ownNames(router, file).map((name) => textOf(tableOf(router).get(name)));
  const next = [...tableOf(fresh).values()].map(textOf);
  return now.length === next.length && now.every((text, index) => text === next[index]);
}

function textOf(procedure: Procedure | undefined): string {
  if (procedure === undefined) return '';
  const { handler, links, name: _name, moduleState: _state, ...rest } = procedure;
  const functions = [handler, ...links.map(({ run }) => run)].map(String);
  return JSON.stringify([functions, rest]);
}

/** When a file was written, Unix milliseconds; Infinity for a file that has gone. */
function modifiedAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY;
}

interface Renewed {
  readonly table: ReadonlyMap<string, Procedure>;
  readonly sources: ReadonlyMap<string, ProcedureSource>;
}

/** The names of the procedures that `router` has from the module; all names, where it doesn't know. */
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
 * @param own the router that the old copy of the module made; undefined where no procedure has links
 * @throws StartupError where a procedure that is not the module's has a new name already
 */
function renew(
  router: AnyRouter,
  fresh: AnyRouter,
  file: ModuleFile,
  own: AnyRouter | undefined,
): Renewed {
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
    if (!old.has(name)) {
      if (next !== undefined) throw collision(name, sources.get(name), file);
      table.set(name, procedure);
    } else {
      sources.delete(name);
      if (next !== undefined) table.set(name, next.procedure);
    }
  }
  for (const [name, { procedure, source }] of renewed) {
    table.set(name, procedure);
    sources.set(name, source);
  }
  return { table, sources };
}

/** Whether a procedure of the module has links in `router`, so that {@link renew} needs the module's own router. */
function haveLinks(router: AnyRouter, file: ModuleFile): boolean {
  return ownNames(router, file).some((name) => tableOf(router).get(name)?.links.length !== 0);
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
    known.set(name, recorded ?? linksBeyond(own, router, name));
  }
  // A router without procedures of the module says by its own links what comes in front of them.
  const all = known.size === 0 ? linksOfRouter(router) : distinct([...known.values()].flat());
  return (name) => known.get(name) ?? all;
}

/** The links that a procedure has in `router` and not in the module's own router. */
function linksBeyond(own: AnyRouter | undefined, router: AnyRouter, name: string): readonly Link[] {
  const inner = (own && tableOf(own).get(name)?.links) ?? [];
  const links = tableOf(router).get(name)?.links ?? [];
  return links.filter(({ run }) => !inner.some((link) => link.run === run));
}

/** The prefixes that the module was merged under: `math.` where its `add` is `math.add` here. */
function prefixesOf(router: AnyRouter, file: ModuleFile): Set<string> {
  const prefixes = new Set<string>();
  for (const [name, source] of sourcesOf(router)) {
    if (source.url === file.url) prefixes.add(name.slice(0, name.length - source.name.length));
  }
  return prefixes.size > 0 ? prefixes : new Set(['']);
}

function collision(
  name: string,
  source: ProcedureSource | undefined,
  file: ModuleFile,
): StartupError {
  const from = source === undefined ? 'registered elsewhere' : `from ${source.url}`;
  return new StartupError(
    `cannot reload ${file.given}: the router has another procedure ${JSON.stringify(name)} (${from}); rename one`,
  );
}
