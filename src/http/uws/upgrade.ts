import type { HttpResponse, us_socket_context_t } from 'uWebSockets.js';
import type { Service } from '../../dispatch/service.ts';
import { admitted } from '../edge/admission.ts';
import { failure } from '../edge/answer.ts';
import { authRequest } from '../edge/auth-request.ts';
import type { CorsLines } from '../edge/cors.ts';
import type { HttpOptions } from '../edge/http-options.ts';
import type { InFlight } from '../edge/in-flight.ts';
import type { Checks } from '../edge/request-checks.ts';
import type { RequestHead } from '../edge/request-head.ts';
import { socketFacts } from '../socket/facts.ts';
import { createHandshake, type Handshake, subprotocolOf } from '../socket/handshake.ts';
import { createSocketContext } from '../socket/sockets.ts';
import type { UwsExchange } from './exchange.ts';
import { Outgoing, type UserData, UwsSocket, type UwsSocketContext } from './socket.ts';

/** Takes the upgrades of one server to WebSockets at `options.path`. */
export class UwsUpgrades {
  readonly #service: Service;
  readonly #options: HttpOptions;
  readonly #inFlight: InFlight;
  readonly #handshake: Handshake;
  readonly #context: UwsSocketContext;

  /** @param onClosed told when a socket has closed */
  constructor(
    service: Service,
    options: HttpOptions,
    checks: Checks,
    inFlight: InFlight,
    onClosed: () => void,
  ) {
    this.#service = service;
    this.#options = options;
    this.#inFlight = inFlight;
    this.#handshake = createHandshake(options, checks, true);
    const context = createSocketContext(service, options, inFlight);
    this.#context = { ...context, outgoing: new Outgoing(), onClosed };
  }

  /** How many sockets are open. */
  get size(): number {
    return this.#context.sockets.size;
  }

  /** See {@link Handshake.asks}. */
  asks(head: RequestHead): boolean {
    return this.#handshake.asks(head);
  }

  /** Ends each socket when its messages are answered. */
  drain(): void {
    this.#context.sockets.drain();
  }

  /**
   * Upgrades a request that asks for it, or answers why not. Must be called in the handler.
   *
   * @param socket undefined: the request has no key, and is refused for that
   */
  upgrade(
    exchange: UwsExchange,
    res: HttpResponse,
    head: RequestHead,
    cors: CorsLines,
    socket: us_socket_context_t | undefined,
  ): void {
    const refused = this.#handshake.refusal(head, this.#inFlight.draining);
    if (refused !== undefined || socket === undefined) {
      exchange.answer(refused ?? failure('no socket can be had here'), cors, false);
      return;
    }
    this.#handshake.withhold(head);
    const { authenticate, path } = this.#options;
    const { remoteAddress, callerHeader } = exchange.facts;
    const facts = socketFacts(head, { remoteAddress, callerHeader, path, route: path });
    const key = head.upgrade?.key ?? '';
    const protocol = subprotocolOf(head.upgrade?.protocol);
    const verdict = authenticate?.(authRequest(head.all, remoteAddress, 'GET', path));
    const late = () => (this.#inFlight.draining ? this.#handshake.draining : undefined);
    exchange.upgrade(
      (scope) => verdict && admitted(this.#service, scope, verdict, late),
      cors,
      ({ authText }) => {
        const data: UserData = { socket: new UwsSocket(this.#context, { ...facts, authText }) };
        res.upgrade(data, key, protocol, '', socket);
      },
    );
  }
}
