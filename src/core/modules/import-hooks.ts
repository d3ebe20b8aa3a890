import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { LoadHookContext, ResolveHookContext } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { nearestManifest } from '../base/package-files.ts';
import {
  facadeUrl,
  generationOf,
  isOwnFile,
  isUserFile,
  packageEntry,
  packageName,
  requiredEntry,
  withGeneration,
  withoutGeneration,
  withoutMarks,
} from './module-url.ts';

/** What the hooks saw: `parent` imports `url`, or the file `loaded` was read. */
export type Report =
  | { readonly parent: string; readonly url: string }
  | ({ readonly loaded: string; readonly format: string } & FileContent);

export interface FileContent {
  readonly hash: string;
  /** Whether the text has an `import()`: the file may load others when it has run. */
  readonly mayImport: boolean;
}

/** CommonJS that was required, which the hooks thread does not see. */
export interface RequiredReport {
  readonly required: string;
  readonly generation: number;
}

export interface HookData {
  readonly port: MessagePort;
  /** 0 when newer hooks have taken over: hooks of `module.register` can't be removed. */
  readonly active: Int32Array;
  readonly packageIsModule: boolean;
}

interface Resolved {
  readonly url: string;
  readonly format?: string | null | undefined;
}

interface Loaded {
  readonly format?: string | null | undefined;
  readonly source?: string | ArrayBuffer | NodeJS.TypedArray | null | undefined;
  readonly responseURL?: string;
}

/**
 * The decisions of the resolve and load hooks, for Node's asynchronous hooks and its synchronous ones:
 *
 *     import './a.ts'          inward()    a.ts                inner hooks (tsx) and Node see no generation
 *     in main.ts?gen=3         outward()   a.ts?gen=3          so each generation has its own copy
 *     read a.ts?gen=3          beforeLoad() hashes it, afterLoad() gives the module its URL with the generation
 */
export class GenerationHooks {
  /** URLs (with their generation) that belong to the graph of a procedure module. */
  readonly #tracked = new Set<string>();
  /** The newest generation of each CommonJS file, whose URL has none. */
  readonly #required = new Map<string, number>();
  readonly #report: (report: Report) => void;
  readonly #packageIsModule: boolean;

  /**
   * @param packageIsModule false if tsx runs this package as CommonJS (the package.json of its user has no
   *   `"type": "module"`). An ES module that was steered to the package would then import a second copy, so none is
   */
  constructor(report: (report: Report) => void, packageIsModule: boolean) {
    this.#report = report;
    this.#packageIsModule = packageIsModule;
  }

  /** The specifier for inner hooks (tsx) and Node: without a generation, since some treat a URL with a query otherwise. */
  inward(specifier: string, parent: string, require: boolean): string {
    const steered = this.#packageIsModule && specifier === packageName && this.#isTracked(parent);
    if (!steered) return withoutGeneration(specifier);
    return require ? fileURLToPath(requiredEntry) : packageEntry;
  }

  outward<R extends Resolved>(resolved: R, specifier: string, parent: string, require: boolean): R {
    const entry = isOwnFile(parent) && specifier.startsWith('file:');
    if (!entry && !this.#isTracked(parent)) return resolved;
    const generation =
      generationOf(specifier) || generationOf(parent) || (this.#required.get(parent) ?? 0);
    if (resolved.url === packageEntry && generation > 0 && this.#packageIsModule) {
      // A require of this package is answered from the require cache (common-js.ts).
      return require ? resolved : { ...resolved, url: facadeUrl(generation), format: 'module' };
    }
    if (!isUserFile(resolved.url)) return resolved;
    const asModule = this.#isModule(resolved);
    const format = asModule ? 'module' : resolved.format;
    const plain = asModule ? withoutMarks(resolved.url) : resolved.url;
    const url = require ? plain : withGeneration(plain, generation);
    if (require || format === 'commonjs') this.#required.set(withoutMarks(plain), generation);
    this.#tracked.add(url);
    this.#report({ parent, url });
    return { ...resolved, url, format };
  }

  beforeLoad(url: string, format: string | null | undefined): void {
    if (!this.#isTracked(url)) return;
    // The file is hashed before it is read to run: an edit in between looks like a change, and is not missed.
    this.#report({ loaded: url, format: format ?? '', ...readContent(withoutMarks(url)) });
  }

  noteRequired({ required, generation }: RequiredReport): void {
    this.#required.set(required, generation);
  }

  afterLoad<L extends Loaded>(loaded: L, url: string): L {
    if (!this.#isTracked(url)) return loaded;
    // Node takes the URL of the module from responseURL.
    if (loaded.responseURL === withoutGeneration(url)) return { ...loaded, responseURL: url };
    return loaded;
  }

  /**
   * Node without registerHooks gives CommonJS text that came from a hook a special `require`, which can't load ES modules
   * and does not use the require cache. If the text requires this package, the text is taken away: Node then reads
   * the file itself, in the usual way.
   */
  afterAsyncLoad<L extends Loaded>(loaded: L, url: string): L {
    const result = this.afterLoad(loaded, url);
    if (result.format !== 'commonjs' || result.source == null || !this.#isTracked(url)) {
      return result;
    }
    const { source } = result;
    const text = typeof source === 'string' ? source : new TextDecoder().decode(source);
    return text.includes(packageName) ? { ...result, source: null } : result;
  }

  #isTracked(url: string): boolean {
    return this.#tracked.has(url) || this.#required.has(url);
  }

  /**
   * Whether a TypeScript file, in a folder whose package.json has no `type`, is written as an ES module. Node's own type
   * stripping decides the same. As CommonJS, its `import 'tandem-rpc'` would load a second copy of this package.
   */
  #isModule({ url, format }: Resolved): boolean {
    if (!this.#packageIsModule || format !== 'commonjs') return false;
    const file = new URL(withoutMarks(url));
    if (!/\.tsx?$/.test(file.pathname)) return false;
    const { type } = nearestManifest(dirname(fileURLToPath(file)));
    return type === undefined && isWrittenAsModule(file);
  }
}

function isWrittenAsModule(file: URL): boolean {
  const text = readFileSync(file, 'utf8');
  if (/^\s*(?:export\s*=|import\s+[\w$]+\s*=\s*require)/m.test(text)) return false;
  return /^\s*(?:import\b\s*[\w$*{'"]|export\b\s*[\w*{])/m.test(text);
}

/** @param file a path, or a file: URL. A file that can't be read has the hash '' */
export function readContent(file: string): FileContent {
  try {
    return contentOf(readFileSync(file.startsWith('file:') ? new URL(file) : file));
  } catch {
    return { hash: '', mayImport: false };
  }
}

export function contentOf(bytes: Buffer): FileContent {
  const hash = createHash('sha256').update(bytes).digest('base64url');
  return { hash, mayImport: /\bimport\s*\(/.test(bytes.toString('latin1')) };
}

/** Whether a resolution is for a require: it has the condition `require` and not `import` (nodejs.org/api/module.html). */
export function isRequire(context: ResolveHookContext): boolean {
  const { conditions } = context;
  return conditions.includes('require') && !conditions.includes('import');
}

// The rest of this file runs in Node's hooks thread, on versions of Node without registerHooks.

let hooks: GenerationHooks | undefined;
let active: Int32Array | undefined;
let port: MessagePort | undefined;

function current(): GenerationHooks | undefined {
  // What a file has required is posted before the file runs, so before it imports anything.
  for (
    let next = port && receiveMessageOnPort(port);
    next;
    next = port && receiveMessageOnPort(port)
  )
    hooks?.noteRequired(next.message as RequiredReport);
  return active !== undefined && Atomics.load(active, 0) === 1 ? hooks : undefined;
}

export function initialize(data: HookData): void {
  ({ active, port } = data);
  hooks = new GenerationHooks((report) => data.port.postMessage(report), data.packageIsModule);
}

export async function resolve<R extends Resolved>(
  specifier: string,
  context: ResolveHookContext,
  next: (specifier: string, context: ResolveHookContext) => Promise<R>,
): Promise<R> {
  const { parentURL } = context;
  const generations = current();
  if (generations === undefined || parentURL === undefined) return next(specifier, context);
  const inner = { ...context, parentURL: withoutGeneration(parentURL) };
  const resolved = await next(generations.inward(specifier, parentURL, false), inner);
  return generations.outward(resolved, specifier, parentURL, false);
}

export async function load<L extends Loaded>(
  url: string,
  context: LoadHookContext,
  next: (url: string, context: LoadHookContext) => Promise<L>,
): Promise<L> {
  const generations = current();
  if (generations === undefined) return next(url, context);
  generations.beforeLoad(url, context.format);
  return generations.afterAsyncLoad(await next(withoutGeneration(url), context), url);
}
