import { statSync } from 'node:fs';
import { type Files, hashFile } from './import-graph.ts';

/**
 * The files that a generation was loaded from. Tells whether they have changed since. A check costs a stat of each file;
 * the content is read again only where the stat differs.
 */
export class SourceFiles {
  readonly #files: Files;
  /** The stat of each file, as text, from when the file was last seen with the content that was loaded. */
  readonly #stamps = new Map<string, string>();

  /** @param files absolute path -> hash of the content as it was loaded */
  constructor(files: Files) {
    this.#files = files;
  }

  get files(): Files {
    return this.#files;
  }

  /** A file that has gone, or whose content differs from what was loaded; undefined: there is none. */
  changed(): string | undefined {
    for (const [path, hash] of this.#files) {
      const stamp = stampOf(path);
      if (stamp === this.#stamps.get(path)) continue;
      if (hashFile(path) !== hash) return path;
      // The stamp was taken before the content was read, so a write after that changes the next stamp.
      this.#stamps.set(path, stamp);
    }
    return undefined;
  }

  /**
   * Call it before another thread loads the files. Afterwards the returned function names a file that the thread may
   * have loaded with other content, even if the file was changed and then put back.
   */
  watch(): () => string | undefined {
    const changed = this.changed();
    if (changed !== undefined) return () => changed;
    return watchStamps(new Map(this.#stamps));
  }

  /** A file that both have loaded with different content; undefined: there is none. */
  differsFrom(other: Files): string | undefined {
    for (const [path, hash] of other) {
      const own = this.#files.get(path);
      if (own !== undefined && own !== hash) return path;
    }
    return undefined;
  }
}

/** The returned function names a file that was written, created or removed since; undefined: there is none. */
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
