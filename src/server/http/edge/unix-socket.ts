import type { Stats } from 'node:fs';
import { chmod, lstat, mkdtemp, rename, rm, rmdir, unlink } from 'node:fs/promises';
import { connect } from 'node:net';
import { basename, dirname } from 'node:path';
import { StartupError } from '../../../core/base/startup-error.ts';
import { codeOf } from './http-server.ts';

/**
 * Longest path of a socket, where systems have room for 104 to 108 bytes with the zero behind it. uWebSockets.js
 * ends the process at a longer one.
 */
const mostBytes = 103;

/** What stands behind the folder of the socket while it is made: `/.XXXXXX/s`. */
const folderBytes = 10;

/**
 * The file of a Unix socket.
 *
 * Servers listen in a folder that nobody else can enter, and the file is moved to its place when it has its mode. So
 * nobody connects who may not, and there is no moment at which the path leads nowhere: the file of a server that has
 * died, or of one that this server takes over from, is replaced in one step. Servers that listen at the path itself
 * would delete whatever stands there (uWebSockets.js), or fail where a file was left (node:http).
 */
export class SocketFile {
  readonly path: string;
  /** Where to listen. */
  readonly private: string;
  readonly #mode: number;
  #published: Pick<Stats, 'dev' | 'ino'> | undefined;

  private constructor(path: string, folder: string, mode: number) {
    this.path = path;
    this.private = `${folder}/s`;
    this.#mode = mode;
  }

  /**
   * @param takesOver whether another server at the path is of the same service, and is to lose its place
   * @throws StartupError with one line: somebody else listens there, or the folder can't be written to
   */
  static async prepare(path: string, mode: number, takesOver: boolean): Promise<SocketFile> {
    const longest = Math.max(
      Buffer.byteLength(path),
      Buffer.byteLength(dirname(path)) + folderBytes,
    );
    if (longest > mostBytes) throw socketError(path, 'ENAMETOOLONG');
    if (!takesOver) await assertSocketFree(path);
    try {
      return new SocketFile(path, await mkdtemp(`${dirname(path)}/.`), mode);
    } catch (error) {
      throw socketError(path, codeOf(error));
    }
  }

  /** Moves the file to its place. To be called when the server listens. */
  async publish(): Promise<void> {
    try {
      await chmod(this.private, this.#mode);
      const { dev, ino } = await lstat(this.private);
      await rename(this.private, this.path);
      this.#published = { dev, ino };
    } catch (error) {
      throw socketError(this.path, codeOf(error));
    }
  }

  /** Removes the folder that `prepare` has made. To be called once the file was published, or can't be. */
  async discard(): Promise<void> {
    await rm(this.private, { force: true }).catch(() => {});
    await rmdir(dirname(this.private)).catch(() => {});
  }

  /** Removes the file, unless it is another server's by now: one that has taken over, say. */
  async remove(): Promise<void> {
    const published = this.#published;
    if (published === undefined) return;
    this.#published = undefined;
    try {
      const { dev, ino } = await lstat(this.path);
      if (dev === published.dev && ino === published.ino) await unlink(this.path);
    } catch {
      // It has gone, or its folder may no longer be written to: the next server replaces it.
    }
  }
}

/** @throws StartupError with one line where the path holds anything but a socket at which nobody listens any more */
export async function assertSocketFree(path: string): Promise<void> {
  let found: Stats;
  try {
    found = await lstat(path);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT') return;
    throw socketError(path, code);
  }
  if (!found.isSocket()) {
    const message = `option socket: ${path} is there already and is no socket: move it away, or choose another path`;
    throw Object.assign(new StartupError(message), { code: 'EEXIST' });
  }
  const code = await connectionTo(path);
  if (code !== 'ECONNREFUSED') throw socketError(path, code === undefined ? 'EADDRINUSE' : code);
}

/** How a connection to the socket fails; undefined: it does not. */
function connectionTo(path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(undefined);
    });
    socket.once('error', (error) => resolve(codeOf(error)));
  });
}

const advice: Readonly<Record<string, (path: string) => string>> = {
  EADDRINUSE: (path) => `${path} is in use: stop what listens there, or choose another path`,
  EACCES: (path) => `no permission for ${path}: choose a folder that this user may write to`,
  ENOENT: (path) => `there is no folder ${dirname(path)} for ${basename(path)}: make it first`,
  ENOTDIR: (path) => `${dirname(path)} is no folder: choose another path`,
  ENAMETOOLONG: (path) =>
    `${path} is too long for a Unix socket: choose a path of at most ${mostBytes - folderBytes} bytes`,
  EROFS: (path) => `${dirname(path)} can't be written to: choose another path`,
};

/** An error at the start: one line that says what to do. `code` is the operating system's. */
export function socketError(path: string, code: string): StartupError & { code: string } {
  const what = advice[code]?.(path) ?? `cannot listen at ${path}: ${code}`;
  return Object.assign(new StartupError(`option socket: ${what}`), { code });
}
