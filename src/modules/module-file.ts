import { realpathSync, type Stats, statSync } from 'node:fs';
import { extname, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { StartupError } from '../base/startup-error.ts';
import { suggestFile } from './load-error.ts';

const extensions = ['.js', '.mjs', '.cjs', '.ts', '.mts', '.cts', '.tsx'];

/** No module is larger; a data file that was named by mistake may be. */
const mostBytes = 64 * 1024 * 1024;

export interface ModuleFile {
  /** The module as its user named it, for messages. */
  readonly given: string;
  /** The file: URL of the module, without a generation. Symbolic links are resolved, as Node does. */
  readonly url: string;
}

/**
 * @param given a path, relative to `cwd` or absolute, or a file: URL
 * @throws StartupError when there is no such module, or it can't be one
 */
export function locateModule(given: string, cwd: string): ModuleFile {
  const path = given.startsWith('file:') ? pathOf(given) : resolve(cwd, given);
  let stats: Stats;
  try {
    stats = statSync(path);
  } catch (cause) {
    const near = suggestFile(path);
    const hint = near === undefined ? '' : `; did you mean ${near}?`;
    throw new StartupError(`module ${given} not found (looked for ${path})${hint}`, { cause });
  }
  if (stats.isDirectory()) throw new StartupError(`${given} is a folder; name the module in it`);
  // To read a FIFO would wait for whoever writes to it, for ever.
  if (!stats.isFile()) throw new StartupError(`module ${given} is no regular file`);
  if (stats.size > mostBytes) {
    throw new StartupError(`module ${given} has ${stats.size} bytes; the most is ${mostBytes}`);
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
