import { once } from 'node:events';
import type { Stats } from 'node:fs';
import { chmod, lstat, mkdtemp, rename, rm, rmdir, unlink } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { basename, dirname, resolve as resolvePath } from 'node:path';
import { isLoopback } from '../../../core/base/loopback.ts';
import { StartupError } from '../../../core/base/startup-error.ts';
import type { Config } from '../../../core/config/config.ts';
import type { HttpOptions } from './http-options.ts';
import type { Scheme } from './route.ts';

/** Where a server listens. */
interface ServerAddress {
  /** The address listened on, after a name was resolved; empty on a Unix socket. */
  readonly host: string;
  /** The port listened on, also if 0 was asked for; 0 on a Unix socket. */
  readonly port: number;
  /** The path of the Unix socket; undefined: it listens on a port. */
  readonly socket: string | undefined;
  /**
   * The URL of the JSON-RPC path, as a client on this machine writes it. On a Unix socket it is of the form
   * `http+unix://%2Frun%2Frpc.sock/rpc`.
   */
  readonly url: string;
}

/** A server that listens, as others see it. */
export type HttpServer = Pick<
  ListeningServer,
  'transport' | 'address' | 'connections' | 'sockets' | 'close'
>;

/**
 * For so long nothing must have come to a server whose Unix socket another one has taken over, milliseconds: a proxy that keeps
 * connections learns by a reply that one closes, and sends no call into it.
 */
const replacedQuietMs = 200;

/** How a server on uWebSockets.js and one on node:http listen and close. */
export abstract class ListeningServer {
  abstract readonly transport: 'uws' | 'node';
  connections = 0;
  /** Those among them that are WebSockets. */
  abstract readonly sockets: number;
  address: ServerAddress;
  protected readonly scheme: Scheme;
  /** Whether only this machine can reach the server. */
  protected readonly isLocal: boolean;
  readonly #path: string;
  #file: SocketFile | undefined;
  #closing: Promise<void> | undefined;

  constructor(scheme: Scheme, { host, port, socket, path }: HttpOptions) {
    this.scheme = scheme;
    this.isLocal = socket === '' && isLoopback(host);
    this.#path = path;
    this.address = this.#addressAt(host, port);
  }

  /**
   * @param at an address, or the file of a Unix socket
   * @throws Error with the `code` of the operating system (EADDRINUSE, ...) and a one-line message
   */
  async listen(at: string | SocketFile): Promise<this> {
    const port = await this.listenAt(at);
    if (at instanceof SocketFile) {
      this.#file = at;
      const url = `${this.scheme}+unix://${encodeURIComponent(at.path)}${this.#path}`;
      this.address = { host: '', port: 0, socket: at.path, url };
    } else {
      this.address = this.#addressAt(at, port);
    }
    return this;
  }

  /**
   * Stops accepting connections and answers the requests in flight; each reply tells its connection to close. After
   * that, or after the grace, closes every connection. Idempotent.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** @returns the port; 0: it has none */
  protected abstract listenAt(at: string | SocketFile): Promise<number>;

  /**
   * Does what `close` promises.
   *
   * @param quietMs above 0: another server has the file of the Unix socket, so nobody new connects here. What has connected is
   *   accepted and answered, until nothing has come for so long
   */
  protected abstract drain(quietMs: number): Promise<void>;

  async #close(): Promise<void> {
    const isReplaced = this.#file !== undefined && (await this.#file.remove());
    await this.drain(isReplaced ? replacedQuietMs : 0);
  }

  #addressAt(host: string, port: number): ServerAddress {
    const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
    const authority = reachable.includes(':') ? `[${reachable}]` : reachable;
    const url = `${this.scheme}://${authority}:${port}${this.#path}`;
    return { host, port, socket: undefined, url };
  }
}

const portAdvice: Readonly<Record<string, (host: string, port: number) => string>> = {
  EADDRINUSE: (host, port) =>
    `port ${port} on ${host} is in use: stop what listens there, or choose another port`,
  EACCES: (host, port) =>
    `no permission to listen on port ${port} of ${host}: choose a port above 1023`,
  EADDRNOTAVAIL: (host) =>
    `this machine has no address ${host}: use 127.0.0.1 for this machine only, or 0.0.0.0 for all`,
  ENOTFOUND: (host) => `host ${host} does not resolve: check its spelling, or use an address`,
};

/** Makes an error at the start: one line that says what to do. `code` is the operating system's. */
export function listenError(code: string, host: string, port: number): Error & { code: string } {
  const say = portAdvice[code];
  const message = say ? say(host, port) : `cannot listen on port ${port} of ${host}: ${code}`;
  return Object.assign(new Error(message), { code });
}

/** The operating system's code in an error of node:net or node:dns. */
export function codeOf(error: unknown): string {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') {
    // The resolver's "try again" counts as "not found": the start does not try again.
    return error.code === 'EAI_AGAIN' ? 'ENOTFOUND' : error.code;
  }
  return String(error);
}

/**
 * Listens on a port that nobody shares, to hold it or to see whether it is free.
 *
 * @throws Error with the `code` of the operating system and a one-line message
 */
export async function holdPort(host: string, port: number): Promise<Server> {
  const address = await resolveHost(host, port);
  try {
    const server = createServer().listen({ host: address, port, exclusive: true });
    await once(server, 'listening');
    return server;
  } catch (error) {
    throw listenError(codeOf(error), host, port);
  }
}

/** Resolves the host once for both servers, which would choose among several addresses in different orders. */
export async function resolveHost(host: string, port: number): Promise<string> {
  try {
    const { lookup } = await import('node:dns/promises');
    return (await lookup(host)).address;
  } catch (error) {
    throw listenError(codeOf(error), host, port);
  }
}

/** Gives a port back. Resolves when the port is free. */
export function givePort(server: Server): Promise<unknown> {
  return new Promise((resolve) => server.close(resolve));
}

type Ports = Pick<Config, 'port' | 'metricsPort'>;

/**
 * Checks that nobody else listens where a service will. Its processes share their ports, and the system would let a
 * foreign process share them too; a Unix socket they take over from each other.
 *
 * @returns the ports; a free port in place of 0
 * @throws Error with the `code` of the operating system (EADDRINUSE, ...) and a one-line message
 */
export async function freePorts({
  host,
  port,
  metricsPort,
  socket,
}: Ports & Pick<Config, 'host' | 'socket'>): Promise<Ports> {
  const held: Server[] = [];
  const hold = async (wanted: number): Promise<number> => {
    const server = await holdPort(host, wanted);
    held.push(server);
    // The address is an object, since the server listens on a port.
    return (server.address() as AddressInfo).port;
  };
  try {
    if (socket !== '') await assertSocketFree(resolvePath(socket), 'socket');
    const own = socket === '' ? await hold(port) : port;
    // Both ports are held at once: two times 0 must give two different ports.
    return {
      port: own,
      metricsPort: metricsPort === 'same' ? metricsPort : await hold(metricsPort),
    };
  } finally {
    await Promise.all(held.map(givePort));
  }
}

/**
 * Longest path of a socket, where systems have room for 104 to 108 bytes with the zero behind it. uWebSockets.js
 * ends the process at a longer one.
 */
const maxBytes = 103;

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
  readonly #option: string;
  #published: Pick<Stats, 'dev' | 'ino'> | undefined;

  private constructor(path: string, folder: string, mode: number, option: string) {
    this.path = path;
    this.private = `${folder}/s`;
    this.#mode = mode;
    this.#option = option;
  }

  /**
   * @param takesOver whether another server at the path is of the same service, and is to lose its place
   * @param option that names the path, for messages
   * @throws StartupError with one line: somebody else listens there, or the folder can't be written to
   */
  static async prepare(
    path: string,
    mode: number,
    takesOver: boolean,
    option = 'socket',
  ): Promise<SocketFile> {
    const folderLength = Buffer.byteLength(dirname(path)) + folderBytes;
    if (Math.max(Buffer.byteLength(path), folderLength) > maxBytes)
      throw socketError(path, 'ENAMETOOLONG', option);
    if (!takesOver) await assertSocketFree(path, option);
    try {
      return new SocketFile(path, await mkdtemp(`${dirname(path)}/.`), mode, option);
    } catch (error) {
      throw socketError(path, codeOf(error), option);
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
      throw socketError(this.path, codeOf(error), this.#option);
    }
  }

  /** Removes the folder that `prepare` has made. To be called once the file was published, or can't be. */
  async discard(): Promise<void> {
    await rm(this.private, { force: true }).catch(() => {});
    await rmdir(dirname(this.private)).catch(() => {});
  }

  /** Removes the file, unless it is another server's by now. @returns whether it is: that one has taken over */
  async remove(): Promise<boolean> {
    const published = this.#published;
    if (published === undefined) return false;
    this.#published = undefined;
    try {
      const { dev, ino } = await lstat(this.path);
      if (dev !== published.dev || ino !== published.ino) return true;
      await unlink(this.path);
    } catch {
      // It has gone, or its folder may no longer be written to: the next server replaces it.
    }
    return false;
  }
}

/** @throws StartupError with one line if the path holds anything but a socket at which nobody listens any more */
async function assertSocketFree(path: string, option: string): Promise<void> {
  let found: Stats;
  try {
    found = await lstat(path);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT') return;
    throw socketError(path, code, option);
  }
  if (!found.isSocket()) {
    const message = `option ${option}: ${path} is there already and is no socket: move it away, or choose another path`;
    throw Object.assign(new StartupError(message), { code: 'EEXIST' });
  }
  const code = await connectionTo(path);
  if (code !== 'ECONNREFUSED')
    throw socketError(path, code === undefined ? 'EADDRINUSE' : code, option);
}

/** How a connection to the socket fails; undefined: it does not. */
async function connectionTo(path: string): Promise<string | undefined> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return undefined;
  } catch (error) {
    return codeOf(error);
  } finally {
    socket.destroy();
  }
}

const fileAdvice: Readonly<Record<string, (path: string) => string>> = {
  EADDRINUSE: (path) => `${path} is in use: stop what listens there, or choose another path`,
  EACCES: (path) => `no permission for ${path}: choose a folder that this user may write to`,
  ENOENT: (path) => `there is no folder ${dirname(path)} for ${basename(path)}: make it first`,
  ENOTDIR: (path) => `${dirname(path)} is no folder: choose another path`,
  ENAMETOOLONG: (path) =>
    `${path} is too long for a Unix socket: choose a path of at most ${maxBytes - folderBytes} bytes`,
  EROFS: (path) => `${dirname(path)} can't be written to: choose another path`,
};

/** An error at the start: one line that says what to do. `code` is the operating system's. */
export function socketError(
  path: string,
  code: string,
  option = 'socket',
): StartupError & { code: string } {
  const what = fileAdvice[code]?.(path) ?? `cannot listen at ${path}: ${code}`;
  return Object.assign(new StartupError(`option ${option}: ${what}`), { code });
}
