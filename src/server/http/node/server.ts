import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http';
import type { AddressInfo, ListenOptions, Socket } from 'node:net';
import { isLoopback } from '../../../core/base/loopback.ts';
import type { Service } from '../../../core/dispatch/service.ts';
import { Share } from '../../../core/dispatch/share.ts';
import { transferTimeoutMs } from '../edge/answer.ts';
import { byAddress } from '../edge/connection-share.ts';
import { InFlight } from '../edge/exchange.ts';
import type { HttpOptions } from '../edge/http-options.ts';
import {
  codeOf,
  type HttpServer,
  listenError,
  portAddress,
  type Scheme,
  socketAddress,
} from '../edge/http-server.ts';
import { RequestHandler } from '../edge/request-handler.ts';
import { addressText } from '../edge/request-head.ts';
import type { TlsFiles } from '../edge/tls.ts';
import { SocketFile, socketError } from '../edge/unix-socket.ts';
import { createHandler, createTurns } from './handler.ts';
import { pathOf } from './mount.ts';
import { NodeUpgrades } from './upgrade.ts';

const serverOptions = {
  // For the three settings below: uWebSockets.js closes idle and slow clients after about 11 s.
  headersTimeout: 10_000,
  keepAliveTimeout: 10_000,
  connectionsCheckingInterval: 2_000,
} as const;

/**
 * Shortest time for a whole request. A body that is read and thrown away has no deadline of its own; the body of a
 * call has one, which ends earlier.
 */
const leastRequestTimeout = 120_000;

/** How long a TLS handshake may take. Only after it can a connection count as idle. */
const handshakeTimeout = 10_000;

type CreateServer = (options: ServerOptions, handler: RequestListener) => Server;

/** Few services have TLS of their own: Node's part for it is loaded for them alone. */
async function creatorOf(tls: TlsFiles | undefined): Promise<CreateServer> {
  if (tls === undefined) return createServer;
  const https = await import('node:https');
  const secured = { handshakeTimeout, key: tls.key, cert: tls.cert };
  return (options, handler) => https.createServer({ ...options, ...secured }, handler);
}

/** The server on node:http, for machines on which uWebSockets.js has no binary. */
class NodeServer implements HttpServer {
  readonly transport = 'node';
  readonly #options: HttpOptions;
  readonly #scheme: Scheme;
  readonly #server: Server;
  readonly #upgrades: NodeUpgrades;
  #socketFile: SocketFile | undefined;
  #closing: Promise<void> | undefined;
  connections = 0;
  address: HttpServer['address'];

  constructor(service: Service, options: HttpOptions, scheme: Scheme, create: CreateServer) {
    this.#options = options;
    this.#scheme = scheme;
    const requests = new RequestHandler(service, options, new InFlight(), createTurns());
    const isLocal = options.socket === '' && isLoopback(options.host);
    const handler = createHandler(
      requests,
      ({ req }) => requests.targetOf(pathOf(req.url)),
      () => isLocal,
    );
    // node:http's limit is twice ours, so that a head slightly over the limit is refused by our check, with a body
    // that says so.
    const longest = transferTimeoutMs(options.maxBodyBytes, options.bodyTimeoutMs);
    const own = {
      ...serverOptions,
      requestTimeout: Math.max(
        leastRequestTimeout,
        Math.ceil(longest) + serverOptions.headersTimeout,
      ),
      maxHeaderSize: 2 * options.maxHeaderBytes,
    };
    this.#upgrades = new NodeUpgrades(requests);
    const takesUpgrades = options.webSocket && options.serves !== 'operations';
    // Since Node 24.9 a server can leave requests that ask for other upgrades at their parser.
    const choice = takesUpgrades ? { shouldUpgradeCallback: this.#upgrades.asks } : {};
    this.#server = create({ ...own, ...choice }, handler);
    // Without a listener node:http answers 417 to an Expect that it does not know. RFC 9110, 10.1.1 does not require
    // that.
    this.#server.on('checkExpectation', handler);
    if (takesUpgrades) this.#server.on('upgrade', this.#upgrades.handle);
    this.#server.maxConnections = options.maxConnections;
    this.#server.on('drop', () => options.onConnectionRefused('full'));
    const share = new Share(options.maxConnections, byAddress);
    const known = new WeakSet<Socket>();
    this.#server.on('connection', (socket) => {
      // A connection whose upgrade is ignored is given to the server a second time.
      if (known.has(socket)) return;
      known.add(socket);
      const holder = { scope: addressText(socket.remoteAddress), amount: 1 };
      const denial = share.isScarce ? share.denial(holder.scope) : undefined;
      if (denial !== undefined) {
        options.onConnectionRefused(denial);
        socket.destroy();
        return;
      }
      share.take(holder);
      this.connections++;
      socket.once('close', () => {
        share.give(holder);
        this.connections--;
      });
    });
    // 0: no limit. With one (2000 by default), node:http drops further headers in silence. Their size is limited
    // above.
    this.#server.maxHeadersCount = 0;
    this.address = portAddress(this.#scheme, options.host, options.port, options.path);
  }

  async listen(at: string | SocketFile): Promise<this> {
    const { port, path } = this.#options;
    if (at instanceof SocketFile) {
      await this.#listen({ path: at.private }, (code) => socketError(at.path, code));
      this.#socketFile = at;
      this.address = socketAddress(this.#scheme, at.path, path);
      return this;
    }
    await this.#listen({ host: at, port, exclusive: true }, (code) => listenError(code, at, port));
    // The address of a server that listens on a port is never a string or null.
    const { port: real } = this.#server.address() as AddressInfo;
    this.address = portAddress(this.#scheme, at, real, path);
    return this;
  }

  #listen(at: ListenOptions, errorOf: (code: string) => Error): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      const fail = (error: Error) => reject(errorOf(codeOf(error)));
      this.#server.once('error', fail);
      this.#server.listen(at, () => {
        this.#server.off('error', fail);
        resolve();
      });
    });
  }

  get sockets(): number {
    return this.#upgrades.size;
  }

  close(): Promise<void> {
    this.#closing ??= this.#drain();
    return this.#closing;
  }

  async #drain(): Promise<void> {
    if (this.#socketFile !== undefined) await this.#socketFile.remove();
    // close() closes idle connections too.
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    await this.#upgrades.close();
    this.#server.closeAllConnections();
    await closed;
  }
}

/** Starts a server on node:http. Errors are those of `listenOnUws`. */
export async function listenOnNode(
  service: Service,
  options: HttpOptions,
  at: string | SocketFile,
  tls: TlsFiles | undefined,
): Promise<HttpServer> {
  const create = await creatorOf(tls);
  return new NodeServer(service, options, tls === undefined ? 'http' : 'https', create).listen(at);
}
