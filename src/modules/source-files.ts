import { statSync } from 'node:fs';
import { type Files, hashFile } from './import-graph.ts';

/**
 * The files that a generation was loaded from, and whether they are still what they were. A look costs a
 * stat of each; its content is read again only where that differs.
 */
export class SourceFiles {
  readonly #files: Files;
  /** The file system's word for each file, from when it was last seen with the content that was loaded. */
  readonly #stamps = new Map<string, string>();

  /** @param files absolute path -> hash of the content as it was loaded */
  constructor(files: Files) {
    this.#files = files;
  }

  get files(): Files {
    return this.#files;
  }

  /** A file whose content is not what was loaded, or that has gone; undefined: there is none. */
  changed(): string | undefined {
    for (const [path, hash] of this.#files) {
      const stamp = stampOf(path);
      if (stamp === this.#stamps.get(path)) continue;
      if (hashFile(path) !== hash) return path;
      // Taken before the content was read: a later write shows in the next one.
      this.#stamps.set(path, stamp);
    }
    return undefined;
  }

  /**
   * To be called before somebody else loads the files. What it returns tells afterwards which file that one
   * may have loaded with another content: also one that was changed, and is now as it was.
   */
  watch(): () => string | undefined {
    const changed = this.changed();
    if (changed !== undefined) return () => changed;
    return watchStamps(new Map(this.#stamps));
  }

  /** A file that both have loaded, with another content; undefined: there is none. */
  differsFrom(other: Files): string | undefined {
    for (const [path, hash] of other) {
      const own = this.#files.get(path);
      if (own !== undefined && own !== hash) return path;
    }
    return undefined;
  }
}

/** What it returns tells which of the files was written since, or has come or gone. */
export function watchFiles(paths: Iterable<string>): () => string | undefined {
  return watchStamps(new Map(Array.from(paths, (path) => [path, stampOf(path)])));
}

function watchStamps(before: ReadonlyMap<string, string>): () => string | undefined {
  return () => {
    for (const [path, stamp] of before) if (stampOf(path) !== stamp) return path;
    return undefined;
  };
}

function stampOf(path: string): string {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
  if (stat === undefined) return 'none';
  return `${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}`;
}
