import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { generationOf, isUserFile, withoutGeneration } from './module-url.ts';

/** Thrown by `process.exit()` where a module calls it while it is loaded. */
export class ModuleExit extends Error {
  constructor(code: number | string | null | undefined) {
    super(`it called process.exit(${code ?? ''})`);
  }
}

type Exit = typeof process.exit;

/** How many loads of each generation are under way. */
const loading = new Map<number, number>();
let original: Exit | undefined;

/**
 * Makes `process.exit()` of modules of a generation an error while they are loaded: a bad edit must not end
 * the service. Anybody else's ends the process, a signal handler's say.
 *
 * @returns ends it
 */
export function guardExit(generation: number): () => void {
  if (original === undefined) {
    // oxlint-disable-next-line typescript/unbound-method -- it is called as process calls it, without this
    original = process.exit;
    process.exit = guarded;
  }
  loading.set(generation, (loading.get(generation) ?? 0) + 1);
  return () => {
    const left = (loading.get(generation) ?? 1) - 1;
    if (left > 0) loading.set(generation, left);
    else loading.delete(generation);
    // Replaced by somebody else meanwhile, it stays and lets everybody through.
    if (loading.size > 0 || original === undefined || process.exit !== guarded) return;
    process.exit = original;
    original = undefined;
  };
}

const guarded = ((code?: number | string | null): never => {
  const generations = [...loading.keys()];
  // In a worker all code but a few lines is the modules'.
  if (!isMainThread && generations.length > 0) throw new ModuleExit(code);
  if (callers().some((name) => generations.some((one) => isOf(name, one)))) {
    throw new ModuleExit(code);
  }
  // Imported by name while modules were loaded, this function is called after the guard has ended, too.
  return original === undefined ? process.exit(code) : original(code);
}) as Exit;

function isOf(name: string, generation: number): boolean {
  const isUrl = name.startsWith('file:');
  if (!isUrl && !isAbsolute(name)) return false;
  const url = isUrl ? name : pathToFileURL(name).href;
  if (!isUserFile(url)) return false;
  // A required file has no generation in its name, nor has the program that was started.
  if (generation > 0 && isUrl) return generationOf(url) === generation;
  const program = process.argv[1];
  return program === undefined || withoutGeneration(url) !== pathToFileURL(program).href;
}

/** The files on the stack as they were loaded: with source maps its text has other names. */
function callers(): string[] {
  const { stackTraceLimit } = Error;
  const prepareStackTrace: unknown = Reflect.get(Error, 'prepareStackTrace');
  try {
    Error.stackTraceLimit = 100;
    Error.prepareStackTrace = (_error, sites) => sites.map((site) => site.getFileName() ?? '');
    return new Error('for its stack').stack as unknown as string[];
  } finally {
    Reflect.set(Error, 'prepareStackTrace', prepareStackTrace);
    Error.stackTraceLimit = stackTraceLimit;
  }
}
