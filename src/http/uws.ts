import type { HttpRequest, HttpResponse, TemplatedApp, us_listen_socket } from 'uWebSockets.js';
import type { Service } from '../dispatch/service.ts';
import { type Checks, createChecks } from './checks.ts';
import { type Cors, createCors } from './cors.ts';
import { type HttpServer, urlOf } from './http-server.ts';
import { InFlight } from './in-flight.ts';
import { listenError, probe } from './listen-error.ts';
import type { HttpOptions } from './options.ts';
import { RequestHead } from './request-head.ts';
import { createRoutes, type Routes } from './routes.ts';
import { type ExchangeContext, UwsExchange } from './uws-exchange.ts';
import type { Uws } from './uws-load.ts';

/** Exclusive: the default shares the port with other processes, silently. */
const exclusivePort = 1;

/** The native signature takes options behind host and port; its type file leaves that overload out. */
type ListenOnHost = (
  host: string,
  port: number,
  options: number,
  callback: (socket: us_listen_socket | false) => void,
) => TemplatedApp;

/** The server on uWebSockets.js. One per process is meant, on the main thread. */
class UwsServer implements HttpServer, ExchangeContext {
  readonly transport = 'uws';
  readonly service: Service;
  readonly inFlight = new InFlight();
  readonly warn: (message: string) => void;
  readonly #uws: Uws;
  readonly #app: TemplatedApp;
  readonly #options: HttpOptions;
  readonly #cors: Cors;
  readonly #checks: Checks;
  readonly #routes: Routes;
  /** One for all requests: it is filled and read before a handler returns. */
  readonly #head: RequestHead;
  #socket: us_listen_socket | undefined;
  #connections = 0;
  #closing: Promise<void> | undefined;
  address: HttpServer['address'];

  constructor(uws: Uws, service: Service, options: HttpOptions) {
    this.service = service;
    this.warn = options.warn;
    this.#uws = uws;
    this.#options = options;
    this.#cors = createCors(options.corsOrigin);
    this.#checks = createChecks(options);
    this.#routes = createRoutes(service, options);
    this.#head = new RequestHead(options.forwardHeaders);
    this.address = { host: options.host, port: options.port, url: '' };
    this.#app = uws
      .App()
      .filter((res, change) => this.#connection(res, Number(change)))
      .post(options.path, (res, req) => this.#post(res, req))
      .any('/*', (res, req) => this.#other(res, req));
  }

  async listen(host: string): Promise<this> {
    const { port, path } = this.#options;
    const socket = await new Promise<us_listen_socket | false>((resolve) => {
      (this.#app.listen as unknown as ListenOnHost).call(
        this.#app,
        host,
        port,
        exclusivePort,
        resolve,
      );
    });
    if (socket === false) {
      this.#app.close();
      throw listenError(await probe(host, port), host, port);
    }
    this.#socket = socket;
    const real = this.#uws.us_socket_local_port(socket);
    this.address = { host, port: real, url: urlOf(host, real, path) };
    return this;
  }

  close(): Promise<void> {
    this.#closing ??= this.#drain();
    return this.#closing;
  }

  async #drain(): Promise<void> {
    if (this.#socket !== undefined) this.#uws.us_listen_socket_close(this.#socket);
    await this.inFlight.drain(this.#options.shutdownGraceMs);
    this.#app.close();
  }

  #connection(res: HttpResponse, change: number): void {
    this.#connections += change;
    if (change > 0 && this.#connections > this.#options.maxConnections) res.close();
  }

  #post(res: HttpResponse, req: HttpRequest): void {
    const exchange = new UwsExchange(this, res);
    const head = this.#head.reset();
    req.forEach(head.add);
    const cors = this.#cors(head.origin);
    const refused = this.#checks.call(head);
    if (refused !== undefined) {
      exchange.answer(refused, cors, false);
      return;
    }
    exchange.call(head, cors);
  }

  #other(res: HttpResponse, req: HttpRequest): void {
    const exchange = new UwsExchange(this, res);
    const head = this.#head.reset();
    req.forEach(head.add);
    const cors = this.#cors(head.origin);
    const method = req.getCaseSensitiveMethod();
    const refused = this.#checks.framing(head);
    if (refused !== undefined) {
      exchange.answer(refused, cors, method === 'HEAD');
      return;
    }
    const target = this.#routes.targetOf(req.getUrl());
    const query = req.getQuery() ?? '';
    const answer = this.#routes.answer(target, method, query, head.ifNoneMatch);
    exchange.answer(answer, cors, method === 'HEAD');
  }
}

/**
 * Starts a server on uWebSockets.js.
 *
 * @param host an address, or a name that resolves
 * @throws Error with the `code` of the operating system (EADDRINUSE, ...) and a one-line message
 */
export function listenOnUws(
  uws: Uws,
  service: Service,
  options: HttpOptions,
  host: string,
): Promise<HttpServer> {
  return new UwsServer(uws, service, options).listen(host);
}
