import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { LoadHookContext, ResolveHookContext } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { MessagePort } from 'node:worker_threads';
import {
  facadeUrl,
  generationOf,
  isOwnFile,
  isUserFile,
  packageEntry,
  packageName,
  packageType,
  withGeneration,
  withoutGeneration,
  withoutMarks,
} from './module-url.ts';

/** What the hooks saw: an import of `url` by `parent`, or that `url` was read (with the hash of its bytes). */
export type Report =
  | { readonly parent: string; readonly url: string }
  | { readonly loaded: string; readonly hash: string; readonly format: string };

export interface HookData {
  readonly port: MessagePort;
  /** 0 once newer hooks have taken over: hooks of `module.register` can't be removed. */
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

/** The decisions of the resolve and load hooks, the same for Node's asynchronous and synchronous ones. */
export class GenerationHooks {
  /** URLs (with their generation) that belong to a procedure module's graph. */
  readonly #tracked = new Set<string>();
  /** The newest generation of each CommonJS file: a require has no query to carry it. */
  readonly #required = new Map<string, number>();
  readonly #report: (report: Report) => void;
  readonly #packageIsModule: boolean;

  /**
   * @param packageIsModule false where tsx runs this package itself as CommonJS (its user's package.json has
   * no `"type": "module"`): an ES module would then import a second copy, so that nothing is steered there
   */
  constructor(report: (report: Report) => void, packageIsModule: boolean) {
    this.#report = report;
    this.#packageIsModule = packageIsModule;
  }

  /** Inner hooks (tsx) and Node see no generation: some of them give a URL with a query other treatment. */
  inward(specifier: string, parent: string, require: boolean): string {
    const steered = this.#packageIsModule && specifier === packageName && this.#isTracked(parent);
    if (!steered) return withoutGeneration(specifier);
    return require ? fileURLToPath(packageEntry) : packageEntry;
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
    // Hashed before it is read for running: an edit in between is seen as a change, never missed.
    this.#report({ loaded: url, hash: hashFile(withoutMarks(url)) ?? '', format: format ?? '' });
  }

  afterLoad<L extends Loaded>(loaded: L, url: string): L {
    if (!this.#isTracked(url)) return loaded;
    // Node takes a module's own URL from here.
    if (loaded.responseURL === withoutGeneration(url)) return { ...loaded, responseURL: url };
    return loaded;
  }

  /**
   * Node before registerHooks runs CommonJS text that a hook gave it with a `require` of its own, which
   * can't load ES modules and passes by the require cache. Without text it takes the usual way.
   */
  afterAsyncLoad<L extends Loaded>(loaded: L, url: string): L {
    const result = this.afterLoad(loaded, url);
    if (result.format !== 'commonjs' || result.source == null || !this.#isTracked(url)) {
      return result;
    }
    return textOf(result.source).includes(packageName) ? { ...result, source: null } : result;
  }

  #isTracked(url: string): boolean {
    return this.#tracked.has(url) || this.#required.has(url);
  }

  /**
   * TypeScript in a folder whose package.json has no `type` is an ES module when it is written as one, as
   * in Node's own type stripping. As CommonJS its `import 'tandem-rpc'` would load a second copy.
   */
  #isModule({ url, format }: Resolved): boolean {
    if (!this.#packageIsModule || format !== 'commonjs') return false;
    const file = new URL(withoutMarks(url));
    if (!/\.tsx?$/.test(file.pathname)) return false;
    return packageType(file) === undefined && isWrittenAsModule(file);
  }
}

function textOf(source: string | ArrayBuffer | NodeJS.TypedArray): string {
  return typeof source === 'string' ? source : new TextDecoder().decode(source);
}

function isWrittenAsModule(file: URL): boolean {
  const text = readFileSync(file, 'utf8');
  if (/^\s*(?:export\s*=|import\s+[\w$]+\s*=\s*require)/m.test(text)) return false;
  return /^\s*(?:import\b\s*[\w$*{'"]|export\b\s*[\w*{])/m.test(text);
}

/** undefined when it can't be read. */
export function hashFile(file: string | URL): string | undefined {
  try {
    const path = typeof file === 'string' && file.startsWith('file:') ? new URL(file) : file;
    return createHash('sha256').update(readFileSync(path)).digest('base64url');
  } catch {
    return undefined;
  }
}

/** @see https://nodejs.org/api/module.html: a require has the condition `require` and not `import`. */
export function isRequire(context: ResolveHookContext): boolean {
  const { conditions } = context;
  return conditions.includes('require') && !conditions.includes('import');
}

// What follows runs in Node's hooks thread, where there is no registerHooks.

let hooks: GenerationHooks | undefined;
let active: Int32Array | undefined;

function current(): GenerationHooks | undefined {
  return active !== undefined && Atomics.load(active, 0) === 1 ? hooks : undefined;
}

export function initialize(data: HookData): void {
  active = data.active;
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
