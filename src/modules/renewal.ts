import { StartupError } from '../base/startup-error.ts';
import { type ProcedureSource, type Router, sourcesOf, tableOf } from '../router/router.ts';
import type { Procedure } from '../router/types.ts';
import type { ModuleFile } from './module-file.ts';

interface Renewed {
  readonly table: ReadonlyMap<string, Procedure>;
  readonly sources: ReadonlyMap<string, ProcedureSource>;
}

/** The names that `router` has from the module: all, where it has no record of it. */
export function ownNames(router: Router, file: ModuleFile): string[] {
  const sources = sourcesOf(router);
  const recorded = router.list().filter((name) => sources.get(name)?.url === file.url);
  return recorded.length > 0 ? recorded : router.list();
}

/**
 * The router's next table, with `fresh` in the place of what it has from that module. What is renewed keeps
 * its place, what is new comes last.
 *
 * @throws StartupError where a new name is taken by something else
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

/** Those it was merged under: `math.` for `math.add` that the module calls `add`. */
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
