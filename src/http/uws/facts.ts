import type { ScopeFacts } from '../../dispatch/scope.ts';
import { addressText } from '../edge/http-server.ts';
import type { Peers, ProxyHeaders } from '../edge/peer.ts';
import type { RequestHead } from '../edge/request-head.ts';
import type { UwsResponse } from './response.ts';

/** What is known of one request. Addresses are found out when somebody asks. */
export class UwsFacts implements ScopeFacts {
  readonly #response: UwsResponse;
  readonly #peers: Peers | undefined;
  /** The address of the connection, once it was read. */
  #address: string | undefined;
  /** The address of the caller, where a proxy may stand in between: 6 us to find out. */
  #caller: string | undefined;
  /**
   * What proxies say of the caller. Where some proxies are trusted, the server sets it before anything reads an
   * address.
   */
  proxyHeaders: ProxyHeaders | undefined;
  headers: ScopeFacts['headers'];
  timeoutMs: number | undefined;
  traceparent: string | undefined;
  tracestate: string | undefined;

  /** @param peers undefined: no proxy is trusted */
  constructor(response: UwsResponse, peers: Peers | undefined) {
    this.#response = response;
    this.#peers = peers;
  }

  /** Takes what the calls of the request may see of its head. */
  take({ forwarded, timeoutMs, traceparent, tracestate }: RequestHead): void {
    this.headers = forwarded;
    this.timeoutMs = timeoutMs;
    this.traceparent = traceparent;
    this.tracestate = tracestate;
  }

  get remoteAddress(): string | undefined {
    const peers = this.#peers;
    if (peers === undefined || this.proxyHeaders === undefined) return this.#connectedFrom;
    this.#caller ??= peers.addressOf(this.#connectedFrom, this.proxyHeaders);
    return this.#caller;
  }

  get callerHeader(): string | undefined {
    return this.proxyHeaders?.caller === undefined
      ? undefined
      : this.#peers?.callerHeader(this.#connectedFrom, this.proxyHeaders);
  }

  get #connectedFrom(): string | undefined {
    if (this.#address === undefined) {
      const text = this.#response.remoteAddressText;
      if (text !== undefined) this.#address = addressText(text);
    }
    return this.#address;
  }
}
