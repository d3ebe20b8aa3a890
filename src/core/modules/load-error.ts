import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { StartupError } from '../base/startup-error.ts';
import { didYouMean, suggest } from '../base/suggest.ts';
import { ProcessExit } from '../base/thread-role.ts';
import { framesOf, isUserFile, withoutGeneration } from './module-url.ts';
import { isTypeScript, tsconfigWithPath } from './typescript.ts';

interface Place {
  readonly file: string;
  readonly line?: string | undefined;
}

/**
 * Says in one line why a module could not be loaded.
 *
 * @param given the module as its user named it
 * @param modules the ES modules that were read for it, the newest last: for a syntax error Node may not name the file
 */
export async function toLoadError(
  error: unknown,
  given: string,
  modules: readonly string[],
): Promise<StartupError> {
  if (error instanceof StartupError) return error;
  const { text, place } = await explain(error, modules);
  const where = place === undefined ? '' : ` (${show(place)})`;
  return new StartupError(`cannot load ${given}: ${text}${where}`, { cause: error });
}

interface Explanation {
  readonly text: string;
  readonly place?: Place | undefined;
}

async function explain(error: unknown, modules: readonly string[]): Promise<Explanation> {
  const { code, message, name } = facts(error);
  if (ProcessExit.is(error)) return { text: message, place: frameOf(error) };
  if (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND') {
    return explainMissing(
      message,
      (error as { requireStack?: readonly string[] }).requireStack?.[0],
    );
  }
  if (code === 'ERR_PACKAGE_IMPORT_NOT_DEFINED') {
    const [, name = '', importer] =
      /"([^"]+)" is not defined.* imported from (.+)$/.exec(message) ?? [];
    if (importer !== undefined) return explainName(name, toPath(importer));
  }
  if (code === 'ERR_UNKNOWN_FILE_EXTENSION') {
    return {
      text: `${firstLine(message)}; for TypeScript behind JavaScript start node with --import tsx`,
    };
  }
  const transform = /^(.+?):(\d+):\d+: ERROR: (.+)$/m.exec(message);
  if (transform !== null) {
    const place = { file: original(transform[1] ?? ''), line: transform[2] };
    return { text: `syntax error: ${transform[3]}`, place };
  }
  if (name === 'SyntaxError') {
    const head = headOf(error);
    const frame = frameOf(error);
    // Code of the module was running: it parsed something that is no code of its own, such as a file of settings.
    if (head === undefined && frame !== undefined) {
      const isJson = stackOf(error).includes('at JSON.parse (');
      const what = isJson ? 'JSON.parse failed' : 'it threw SyntaxError';
      return { text: `${what}: ${firstLine(message)}`, place: frame };
    }
    const place = head ?? (await findSyntaxError(modules));
    return { text: `syntax error: ${firstLine(message)}`, place };
  }
  // What the other module of a circle exports is not there yet.
  const isCircle = name === 'ReferenceError' && message.endsWith(' before initialization');
  const advice = isCircle
    ? '; if modules import each other in a circle, move what both need into a module of its own'
    : '';
  return { text: `it threw ${summary(error)}${advice}`, place: frameOf(error) };
}

/** `TypeError: message`, for anything that can be thrown. */
function summary(error: unknown): string {
  const { name, message } = facts(error);
  if (name === '') return `${message}, which is no Error`;
  return `${name}: ${firstLine(message)}`;
}

/** Says in one line what was thrown, and at which place in the user's own code. */
export function summaryWithPlace(error: unknown): string {
  const place = frameOf(error);
  const text = ProcessExit.is(error) ? error.message : `it threw ${summary(error)}`;
  return place === undefined ? text : `${text} (${show(place)})`;
}

function facts(error: unknown): { code: unknown; message: string; name: string } {
  try {
    if (error instanceof Error) {
      const { code } = error as { code?: unknown };
      return { code, message: String(error.message), name: String(error.name) };
    }
    return { code: undefined, message: firstLine(String(error)), name: '' };
  } catch {
    return { code: undefined, message: 'something that cannot be described', name: '' };
  }
}

function explainMissing(message: string, requiredBy: string | undefined): Explanation {
  const found = /Cannot find (module|package) '([^']+)'(?: imported from (.+))?/.exec(message);
  const target = found?.[2] ?? '';
  const importer = found?.[3]?.trim() ?? requiredBy;
  if (found === null || importer === undefined) return { text: firstLine(message) };
  const file = toPath(importer);
  const place = { file, line: lineWith(file, basename(target)) };
  const isFile = target.startsWith('/') || target.startsWith('.') || /^[A-Za-z]:/.test(target);
  if (found[1] === 'package' || !isFile) return explainName(target, file);
  const missing = target.startsWith('.') ? `${dirname(file)}/${target}` : target;
  const hint = didYouMean(suggestFile(missing));
  return { text: `it imports ${display(missing)}, which does not exist${hint}`, place };
}

/** Names that npm can have. Any other is a path alias, such as `@/users`, `~/users` and `#users`. */
const packageNames = /^(?:@[a-z\d][\w.-]*\/)?[a-z\d][\w.-]*(?:\/|$)/i;

/** @param name what `file` imports, or the first part of it */
function explainName(name: string, file: string): Explanation {
  const place = { file, line: lineWith(file, name) };
  const tsconfig = tsconfigWithPath(file, name);
  if (tsconfig !== undefined) {
    // One tsconfig.json holds for all modules of a process: see `ensureTypeScript`.
    const text =
      `it imports ${name}, one of the paths of ${display(tsconfig)}, which leads to no file: correct it there, ` +
      `or start with TSX_TSCONFIG_PATH=${display(tsconfig)} where another tsconfig.json is the first module's`;
    return { text, place };
  }
  if (packageNames.test(name)) {
    const text = `it imports the package ${name}, which is not installed; npm install it`;
    return { text, place };
  }
  const mend = isTypeScript(file)
    ? 'add it to the paths of the nearest tsconfig.json'
    : 'Node does not read the paths of a tsconfig.json: add it to the imports of package.json, as #name';
  return {
    text: `it imports ${name}, a path alias that leads nowhere; ${mend}, or import a relative path`,
    place,
  };
}

/** A file in the same folder that was probably meant: one with another extension, else one with a near name. */
export function suggestFile(path: string): string | undefined {
  try {
    const names = readdirSync(dirname(path)).filter((name) =>
      /\.(?:[cm]?[jt]s|tsx|json)$/.test(name),
    );
    const stem = basename(path).replace(/\.[^.]*$/, '');
    const sibling = names.find((name) => name.replace(/\.[^.]*$/, '') === stem);
    return sibling ?? suggest(basename(path), names);
  } catch {
    return undefined;
  }
}

function lineWith(file: string, word: string): string | undefined {
  try {
    const lines = readFileSync(file, 'utf8').split('\n');
    const index = lines.findIndex((line) => line.includes(word) && /['"`]/.test(line));
    return index === -1 ? undefined : String(index + 1);
  } catch {
    return undefined;
  }
}

/** The place in the first line of the stack, where Node puts it for some errors. */
function headOf(error: unknown): Place | undefined {
  const head = /^(\S.*):(\d+)$/.exec(firstLine(stackOf(error)));
  if (head !== null) return { file: toPath(head[1] ?? ''), line: head[2] };
  // For a JSON file, the path is in the message.
  const json = /^(.+\.json): /.exec(facts(error).message);
  return json === null ? undefined : { file: toPath(json[1] ?? '') };
}

/** The innermost frame of the user's own code. */
function frameOf(error: unknown): Place | undefined {
  const frame = framesOf(stackOf(error)).find(({ url }) => isUserFile(url));
  return frame && { file: fileURLToPath(frame.url), line: frame.line };
}

/**
 * Looks for a syntax error in each module, the newest first: it is the likeliest to have the error. Node names neither file
 * nor line when an import fails by a syntax error in JavaScript, which is what most reloads fail by; `node --check` does.
 */
async function findSyntaxError(modules: readonly string[]): Promise<Place | undefined> {
  // Not loaded by each thread that loads modules.
  const { execFile } = await import('node:child_process');
  const { NODE_OPTIONS: _loaders, ...env } = process.env;
  const flags = ['--input-type=module', '--check', '-'];
  for (const url of modules.toReversed()) {
    const file = toPath(url);
    if (!/\.m?js$/.test(file) || !existsSync(file)) continue;
    const output = await new Promise<string>((resolve) => {
      const child = execFile(process.execPath, flags, { env }, (_error, _out, text) =>
        resolve(text),
      );
      // Writing fails when the child has ended early; only its output counts.
      child.stdin?.on('error', () => {}).end(readFileSync(file));
    });
    const line = /^\[stdin\]:(\d+)$/m.exec(output)?.[1];
    if (line !== undefined) return { file, line };
  }
  return undefined;
}

/** The file that exists: tsx tells esbuild x.ts where the file is x.cts or x.mts. */
function original(file: string): string {
  if (existsSync(file)) return file;
  const other = ['.cts', '.mts', '.mjs', '.cjs'].map((ext) => file.replace(/\.[jt]s$/, ext));
  return other.find((candidate) => existsSync(candidate)) ?? file;
}

function toPath(text: string): string {
  const plain = withoutGeneration(text);
  return plain.startsWith('file:') ? fileURLToPath(plain) : plain;
}

function show(place: Place): string {
  const file = display(place.file);
  return place.line === undefined ? file : `${file}:${place.line}`;
}

function display(path: string): string {
  const short = relative(process.cwd(), path);
  return short.startsWith('..') || short === '' ? path : short;
}

/** Empty for what is no Error. */
export function stackOf(error: unknown): string {
  try {
    return error instanceof Error ? String(error.stack) : '';
  } catch {
    return ''; // `stack` may be a getter that throws
  }
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}

/** A step of loading a module. It is reported before the step begins, so that an error can name the step that hangs. */
export interface LoadStage {
  readonly step: 'import' | 'setup' | 'replay';
  /** The module as its user named it; of `replay`, the broadcasts that are run again. */
  readonly module: string;
}

const stageTexts = { import: 'loading', setup: 'setup() of', replay: 'the replay of' } as const;

export function describeStage({ step, module }: LoadStage): string {
  return `${stageTexts[step]} ${module}`;
}

/** What to do about a module that does not end loading. */
export const hangHint =
  'look for a loop, or a wait at the top level or in setup(), that does not end, or raise startTimeoutMs';

/** How the caller watches a load, and gives it up. */
export interface LoadControl {
  /** Aborting it gives the load up: the promise rejects with the reason. Code that is still running is not waited for. */
  readonly signal?: AbortSignal | undefined;
  readonly onStage?: ((stage: LoadStage) => void) | undefined;
}

/** Resolves as `work` does. Rejects with the signal's reason as soon as the signal aborts. */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  work.catch(() => {}); // the work may still fail after it was given up
  signal.throwIfAborted();
  let onAbort: (() => void) | undefined;
  try {
    return await new Promise<T>((resolve, reject) => {
      onAbort = () => reject(signal.reason);
      signal.addEventListener('abort', onAbort);
      work.then(resolve, reject);
    });
  } finally {
    if (onAbort !== undefined) signal.removeEventListener('abort', onAbort);
  }
}
