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

/** The URL, with its generation, that a module was last imported by: that import may have failed half-way. */
export function newestEntry(url: string): string | undefined {
  return newestEntries.get(url);
}

/**
 * @param signal gives the import up: the promise rejects with its reason
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
  // What was given up may go on one day: it is guarded until it ends.
  imported.then(allowExit, allowExit);
  try {
    return await orAborted(imported, signal);
  } catch (error) {
    signal?.throwIfAborted();
    failures.push(error);
    await nextTurn(); // unhandled rejections are reported at the end of this one
    throw await toLoadError(error, file.given, graphOf(url).modules);
  } finally {
    failures.length = 0;
    release();
  }
}

/**
 * Node 20 reports an error thrown by a CommonJS file behind an ES module twice: by the import, and as an
 * unhandled rejection of a promise that nobody can reach, which would end the process.
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
    // Wrapped by somebody else meanwhile, it stays and lets everything through.
    if (process.emit === filtered) process.emit = emit;
  };
}
