import module from 'node:module';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { guardExit } from './exit-guard.ts';
import { graphOf } from './import-graph.ts';
import { toLoadError } from './load-error.ts';
import { orAborted } from './load-stage.ts';
import type { ModuleFile } from './module-file.ts';
import { withGeneration } from './module-url.ts';

type Exports = Readonly<Record<string, unknown>>;

const newestEntries = new Map<string, string>();

/** The URL, with its generation, by which a module was last imported. That import may have failed. */
export function newestEntry(url: string): string | undefined {
  return newestEntries.get(url);
}

/**
 * @param signal aborting it gives the import up: the promise rejects with the signal's reason
 * @throws StartupError that says what is wrong with the module, or with what it imports
 */
export async function importModule(
  file: ModuleFile,
  generation: number,
  signal?: AbortSignal,
): Promise<Exports> {
  const url = withGeneration(file.url, generation);
  newestEntries.set(file.url, url);
  const failures: unknown[] = [];
  const release = holdBackRejections(failures);
  const allowExit = guardExit(generation);
  const imported = import(url) as Promise<Exports>;
  // An import that was given up may go on, so the guard stays until the import ends.
  imported.then(allowExit, allowExit);
  try {
    return await orAborted(imported, signal);
  } catch (error) {
    signal?.throwIfAborted();
    failures.push(error);
    await nextTurn(); // Node reports unhandled rejections at the end of this turn
    throw await toLoadError(error, file.given, graphOf(url).modules);
  } finally {
    failures.length = 0;
    release();
  }
}

/**
 * Drops unhandled rejections with the errors in `known`. Node 20 reports an error that a CommonJS file throws, when an
 * ES module imports the file, twice: by the import, and as the unhandled rejection of a promise that nobody can reach.
 * The second report would end the process.
 *
 * @returns a function that ends this
 */
function holdBackRejections(known: readonly unknown[]): () => void {
  if ('registerHooks' in module) return () => {};
  const emit = Reflect.get(process, 'emit') as typeof process.emit;
  const filtered = function (this: NodeJS.Process, ...args: unknown[]): boolean {
    if (args[0] === 'unhandledRejection' && known.includes(args[1])) return true;
    return Reflect.apply(emit, this, args);
  };
  process.emit = filtered as typeof emit;
  return () => {
    // Somebody has wrapped `filtered` meanwhile: it stays in place, and passes every event on.
    if (process.emit === filtered) process.emit = emit;
  };
}
