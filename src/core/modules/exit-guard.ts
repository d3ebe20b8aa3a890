import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { ProcessExit } from '../base/thread-role.ts';
import { stackOf } from './load-error.ts';
import { framesOf, generationOf, isOwnFile, isUserFile, withoutGeneration } from './module-url.ts';

type Exit = typeof process.exit;

/** How many loads are under way, by generation. */
const loading = new Map<number, number>();
let original: Exit | undefined;

/**
 * Makes `process.exit()` throw when a module of `generation` calls it while modules are loaded: a bad edit must not end
 * the service. A call by anybody else, by a signal handler for example, ends the process.
 *
 * @returns a function that ends the guard
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
    // Somebody has wrapped `guarded` meanwhile: it stays in place, and passes every call on.
    if (loading.size > 0 || original === undefined || process.exit !== guarded) return;
    process.exit = original;
    original = undefined;
  };
}

const guarded = ((code?: number | string | null): never => {
  const generations = [...loading.keys()];
  // In a worker nearly all code is that of modules, so every caller counts as one.
  if (!isMainThread && generations.length > 0) throw new ProcessExit(code);
  if (callers().some((name) => generations.some((one) => isOf(name, one)))) {
    throw new ProcessExit(code);
  }
  // Code that imported `exit` by name while modules were loaded calls this function after the guard has ended, too.
  return original === undefined ? process.exit(code) : original(code);
}) as Exit;

function isOf(name: string, generation: number): boolean {
  const isUrl = name.startsWith('file:');
  if (!isUrl && !isAbsolute(name)) return false;
  const url = isUrl ? name : pathToFileURL(name).href;
  if (!isUserFile(url)) return false;
  // The name of a required file has no generation. Nor has that of the started program, which may call process.exit.
  if (generation > 0 && isUrl) return generationOf(url) === generation;
  const program = process.argv[1];
  return program === undefined || withoutGeneration(url) !== pathToFileURL(program).href;
}

/** The names of the files on the stack. Read from the call sites: source maps change the names in the stack's text. */
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

/**
 * Whether an uncaught error was thrown by a procedure module in a timer or a listener of its own: then no code of this
 * package was interrupted. The stack must name a file of the modules and none of this package. A thrown value that is
 * not an Error counts as the modules': this package throws only Errors.
 */
export function threwInModules(error: unknown): boolean {
  if (!(error instanceof Error)) return true;
  const urls = framesOf(stackOf(error)).map(({ url }) => url);
  return urls.some(isUserFile) && !urls.some(isOwnFile);
}

/** Where this package's own exit guard stands between a module and `process.exit`, it is no caller. */
const ownGuard = /\bguarded\b/;

/** Whether code other than this package's has called `process.exit`, by the stack of a listener of the event `exit`. */
export function exitedByModules(stack: string): boolean {
  const lines = stack.split('\n');
  const at = lines.findLastIndex((line) => line.includes('at process.exit ('));
  if (at === -1) return false;
  const caller = lines.slice(at + 1).find((line) => !ownGuard.test(line));
  const [frame] = framesOf(caller ?? '');
  return frame !== undefined && !isOwnFile(frame.url);
}
