import { type BigIntStats, realpathSync, type Stats, statSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { extname, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { StartupError } from '../base/startup-error.ts';
import { didYouMean } from '../base/suggest.ts';
import { type Files, tellFilesLoaded } from './import-graph.ts';
import { contentOf, readContent } from './import-hooks.ts';
import { suggestFile } from './load-error.ts';

const extensions = ['.js', '.mjs', '.cjs', '.ts', '.mts', '.cts', '.tsx'];

/** No module is larger; a data file that was named by mistake may be. */
const maxBytes = 64 * 1024 * 1024;

export interface ModuleFile {
  /** The module as its user named it, for messages. */
  readonly given: string;
  /** The file: URL of the module, without a generation. Symbolic links are resolved, as Node does. */
  readonly url: string;
}

/**
 * @param given a path, relative to the working directory or absolute, or a file: URL
 * @throws StartupError when there is no such module, or it can't be one
 */
export function locateModule(given: string): ModuleFile {
  const path = given.startsWith('file:') ? pathOf(given) : resolve(given);
  let stats: Stats;
  try {
    stats = statSync(path);
  } catch (cause) {
    const hint = didYouMean(suggestFile(path));
    throw new StartupError(`module ${given} not found (looked for ${path})${hint}`, { cause });
  }
  if (stats.isDirectory()) throw new StartupError(`${given} is a folder; name the module in it`);
  // To read a FIFO would wait for whoever writes to it, for ever.
  if (!stats.isFile()) throw new StartupError(`module ${given} is no regular file`);
  if (stats.size > maxBytes) {
    throw new StartupError(`module ${given} has ${stats.size} bytes; the most is ${maxBytes}`);
  }
  const extension = extname(path);
  if (!extensions.includes(extension)) {
    const shown = extension === '' ? 'has no extension' : `has the extension ${extension}`;
    throw new StartupError(`module ${given} ${shown}; use one of ${extensions.join(' ')}`);
  }
  return { given, url: pathToFileURL(realpathSync(path)).href };
}

function pathOf(given: string): string {
  try {
    const url = new URL(given);
    url.search = '';
    url.hash = '';
    return fileURLToPath(url);
  } catch (cause) {
    throw new StartupError(`module ${given} is no valid file: URL; give a path instead`, { cause });
  }
}

/**
 * The files that a deployment was loaded from, those among them that a handler loads later. Tells whether they have changed
 * since. A check costs a stat of each file; the content is read again only if the stat differs.
 */
export class SourceFiles {
  /** Absolute path -> hash of the content as it was loaded. */
  readonly #files = new Map<string, string>();
  readonly #ownFiles: () => Files;
  /** A file that two threads have loaded with different content. */
  #mixed: string | undefined;
  /** The stat of each file, as text, from when the file was last seen with the content that was loaded. */
  readonly #stamps = new Map<string, string>();
  /** Called when a file was written while threads load. One timer looks for all of them. */
  readonly #listeners = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;

  /** @param ownFiles what this thread has loaded so far */
  constructor(ownFiles: () => Files) {
    this.#ownFiles = ownFiles;
  }

  get files(): Files {
    this.#merge(this.#ownFiles());
    return this.#files;
  }

  /**
   * Adds what a thread has loaded. If a file differs from what another thread has loaded, the files count as changed from then on.
   *
   * @returns such a file; undefined: there is none
   */
  add(loaded: Files): string | undefined {
    const { size } = this.files;
    const differing = this.#merge(loaded);
    if (this.#files.size > size) tellFilesLoaded();
    return differing;
  }

  #merge(loaded: Files): string | undefined {
    let differing: string | undefined;
    for (const [path, hash] of loaded) {
      const known = this.#files.get(path);
      if (known === undefined) this.#files.set(path, hash);
      else if (known !== hash) differing ??= path;
    }
    this.#mixed ??= differing;
    return differing;
  }

  /** A file that has gone, or whose content differs from what was loaded; undefined: there is none. Does not hold this thread. */
  async changed(): Promise<string | undefined> {
    for (const [path, hash] of this.files) {
      if (this.#mixed !== undefined) break;
      const stamp = stampOf(await stat(path, { bigint: true }).catch(() => undefined));
      if (stamp === this.#stamps.get(path)) continue;
      const bytes = stamp === missing ? undefined : await readFile(path).catch(() => undefined);
      if (bytes === undefined || contentOf(bytes).hash !== hash) return path;
      // The stamp was taken before the content was read, so a write after that changes the next stamp.
      this.#stamps.set(path, stamp);
    }
    return this.#mixed;
  }

  /**
   * Call it before another thread loads the files. Afterwards the returned function names a file that the thread may
   * have loaded with other content, even if the file was changed and then put back. Holds this thread for a stat of each file: the
   * content is read of those that `changed` has not seen.
   */
  watch(): () => string | undefined {
    const { files } = this;
    const mixed = this.#mixed;
    if (mixed !== undefined) return () => mixed;
    const before = new Map<string, string>();
    for (const [path, hash] of files) {
      const stamp = stampAt(path);
      const isSeen = stamp === this.#stamps.get(path);
      if (!isSeen && (stamp === missing || readContent(path).hash !== hash)) return () => path;
      this.#stamps.set(path, stamp);
      before.set(path, stamp);
    }
    return () => {
      for (const [path, stamp] of before) if (stampAt(path) !== stamp) return path;
      return undefined;
    };
  }

  /**
   * Calls the listener when a file is no longer as it was seen last, some time after that. Looks once a second, without holding this
   * thread.
   *
   * @returns a function that ends this
   */
  onChanged(listener: () => void): () => void {
    this.#listeners.add(listener);
    this.#timer ??= setInterval(() => void this.#look(), lookMs).unref();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }

  async #look(): Promise<void> {
    // On a slow disk a look may take longer than a second.
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      for (const [path, stamp] of this.#stamps) {
        const stats = await stat(path, { bigint: true }).catch(() => undefined);
        if (stampOf(stats) === stamp) continue;
        for (const listener of this.#listeners) listener();
        return;
      }
    } finally {
      this.#isLooking = false;
    }
  }

  /** A file that both have loaded with different content; undefined: there is none. */
  differsFrom(other: Files): string | undefined {
    const { files } = this;
    for (const [path, hash] of other) {
      const own = files.get(path);
      if (own !== undefined && own !== hash) return path;
    }
    return undefined;
  }
}

/** The returned function tells whether the file was written, created or removed since. */
export function watchFile(path: string): () => boolean {
  const before = stampAt(path);
  return () => stampAt(path) !== before;
}

const missing = 'none';

/**
 * How often the files are looked at while threads load them, milliseconds. The code of a changed file is refused, and may never end
 * loading: once the file is put back, the next try must not wait for `startTimeoutMs`.
 */
const lookMs = 1000;

function stampAt(path: string): string {
  return stampOf(statSync(path, { bigint: true, throwIfNoEntry: false }));
}

function stampOf(stats: BigIntStats | undefined): string {
  if (stats === undefined) return missing;
  return `${stats.ino} ${stats.size} ${stats.mtimeNs} ${stats.ctimeNs}`;
}
