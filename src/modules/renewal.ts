import { StartupError } from '../base/startup-error.ts';
import { behind, distinct } from '../router/middleware/link.ts';
import type { Link } from '../router/middleware/middleware.ts';
import { linksOfRouter, sourcesOf, tableOf } from '../router/router.ts';
import type { AnyRouter, ProcedureSource } from '../router/router-state.ts';
import type { Procedure } from '../router/types.ts';
import type { ModuleFile } from './module-file.ts';

interface Renewed {
  readonly table: ReadonlyMap<string, Procedure>;
  readonly sources: ReadonlyMap<string, ProcedureSource>;
}

/** The names of the procedures that `router` has from the module; all names, where it doesn't know. */
export function ownNames(router: AnyRouter, file: ModuleFile): string[] {
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
export function renew(
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
        procedure: behind(added, procedure),
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
export function haveLinks(router: AnyRouter, file: ModuleFile): boolean {
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
