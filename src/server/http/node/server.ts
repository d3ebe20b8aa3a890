import { once } from 'node:events';
import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { addressKey } from '../../../core/dispatch/caller-key.ts';
import type { Service } from '../../../core/dispatch/service.ts';
import { Share } from '../../../core/dispatch/share.ts';
import { transferTimeoutMs } from '../edge/answer.ts';
import { byAddress } from '../edge/connection-share.ts';
import type { HttpOptions } from '../edge/http-options.ts';
import {
  codeOf,
  ListeningServer,
  listenError,
  SocketFile,
  socketError,
} from '../edge/http-server.ts';
import { maxHeaderBytes } from '../edge/request-checks.ts';
import { addressText } from '../edge/request-head.ts';
import type { Scheme } from '../edge/route.ts';
import type { TlsFiles } from '../edge/tls.ts';
import { Routes } from '../routes.ts';
import { createHandler, IdleConnections } from './handler.ts';
import { ownLine } from './mount.ts';
import { NodeUpgrades } from './upgrade.ts';

const serverOptions = {
  // As uWebSockets.js, which closes slow clients after about 11 s.
  headersTimeout: 10_000,
  connectionsCheckingInterval: 2_000,
} as const;

/**
 * Shortest time for a whole request. A body that is read and thrown away has no deadline of its own; the body of a
 * call has one, which ends earlier.
 */
const minRequestTimeout = 120_000;

/** How long a TLS handshake may take. Only after it can a connection count as idle. */
const handshakeTimeout = 10_000;

/** @param tls undefined: connections are not encrypted */
export async function createNodeServer(
  service: Service,
  options: HttpOptions,
  tls: TlsFiles | undefined,
): Promise<NodeServer> {
  if (tls === undefined) return new NodeServer(service, options, 'http', createServer);
  // Few services have TLS of their own: Node's part for it is loaded for them alone.
  const https = await import('node:https');
  const secured = { handshakeTimeout, key: tls.key, cert: tls.cert };
  return new NodeServer(service, options, 'https', (own, handler) =>
    https.createServer({ ...own, ...secured }, handler),
  );
}

/** The server on node:http, for machines on which uWebSockets.js has no binary. */
class NodeServer extends ListeningServer {
  readonly transport = 'node';
  readonly #options: HttpOptions;
  readonly #server: Server;
  readonly #upgrades: NodeUpgrades;

  constructor(
    service: Service,
    options: HttpOptions,
    scheme: Scheme,
    create: (options: ServerOptions, handler: RequestListener) => Server,
  ) {
    super(scheme, options);
    this.#options = options;
    const routes = new Routes(service, options);
    const idle = new IdleConnections();
    const handler = createHandler(
      routes,
      ({ req }) => ownLine(req, routes, this.isLocal),
      undefined,
      idle,
    );
    // node:http's limit is twice ours, so that a head slightly over the limit is refused by our check, with a body
    // that says so.
    const longest = transferTimeoutMs(options.maxBodyBytes, options.bodyTimeoutMs);
    const own = {
      ...serverOptions,
      keepAliveTimeout: options.keepAliveTimeoutMs,
      requestTimeout: Math.max(
        minRequestTimeout,
        Math.ceil(longest) + serverOptions.headersTimeout,
      ),
      maxHeaderSize: 2 * maxHeaderBytes,
    };
    this.#upgrades = new NodeUpgrades(routes, undefined, (socket) => idle.deleteSocket(socket));
    const takesUpgrades = options.serves !== 'operations';
    // Since Node 24.9 a server can leave requests that ask for other upgrades at their parser.
    const choice = takesUpgrades ? { shouldUpgradeCallback: this.#upgrades.asks } : {};
    this.#server = create({ ...own, ...choice }, handler);
    // Without a listener node:http answers 417 to an Expect that it does not know. RFC 9110, 10.1.1 does not require
    // that.
    this.#server.on('checkExpectation', handler);
    if (takesUpgrades) this.#server.on('upgrade', this.#upgrades.handle);
    const share = new Share(options.maxConnections, byAddress);
    const known = new WeakSet<Socket>();
    this.#server.on('connection', (socket) => {
      // A connection whose upgrade is ignored is given to the server a second time.
      if (known.has(socket)) return;
      known.add(socket);
      const holder = { scope: addressText(socket.remoteAddress), amount: 1 };
      const denial = share.isScarce ? share.denial(holder.scope) : undefined;
      // An idle connection makes room: one of the same caller, or, for a caller with few, one of anybody.
      const hasRoom =
        denial === undefined ||
        idle.closeOne(addressKey(holder.scope)) ||
        (share.isSmall(holder.scope) && idle.closeOne(undefined));
      if (!hasRoom) {
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
  }

  get sockets(): number {
    return this.#upgrades.size;
  }

  protected override async listenAt(at: string | SocketFile): Promise<number> {
    const { port } = this.#options;
    const server = this.#server;
    const isFile = at instanceof SocketFile;
    try {
      server.listen(isFile ? { path: at.private } : { host: at, port, exclusive: true });
      await once(server, 'listening');
    } catch (error) {
      const code = codeOf(error);
      throw isFile ? socketError(at.path, code) : listenError(code, at, port);
    }
    // The address of a server that listens on a port is never a string or null.
    return isFile ? 0 : (server.address() as AddressInfo).port;
  }

  protected override async drain(quietMs: number): Promise<void> {
    // It closes idle connections too.
    const close = () => new Promise<void>((resolve) => this.#server.close(() => resolve()));
    const closedFirst = quietMs > 0 ? undefined : close();
    await this.#upgrades.close(quietMs);
    this.#server.closeAllConnections();
    await (closedFirst ?? close());
  }
}
