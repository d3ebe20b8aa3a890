import { StartupError } from '../base/startup-error.ts';
import { type ProcedureSource, type Router, sourcesOf, tableOf } from '../router/router.ts';
import type { Procedure } from '../router/types.ts';
import type { ModuleFile } from './module-file.ts';

interface Renewed {
  readonly table: ReadonlyMap<string, Procedure>;
  readonly sources: ReadonlyMap<string, ProcedureSource>;
}

/** The names of the procedures that `router` has from the module; all names, where it doesn't know. */
export function ownNames(router: Router, file: ModuleFile): string[] {
  const sources = sourcesOf(router);
  const recorded = router.list().filter((name) => sources.get(name)?.url === file.url);
  return recorded.length > 0 ? recorded : router.list();
}

/**
 * The next table of `router`: the procedures of the module are replaced by those of `fresh`. A renewed procedure keeps
 * its position, a new one comes last.
 *
 * @throws StartupError where a procedure that is not the module's has a new name already
 */
export function renew(router: Router, fresh: Router, file: ModuleFile): Renewed {
  const renewed = new Map<string, { procedure: Procedure; source: ProcedureSource }>();
  for (const prefix of prefixesOf(router, file)) {
    for (const [name, procedure] of tableOf(fresh)) {
      renewed.set(prefix + name, { procedure, source: { url: file.url, name } });
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

/** The prefixes that the module was merged under: `math.` where its `add` is `math.add` here. */
function prefixesOf(router: Router, file: ModuleFile): Set<string> {
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
