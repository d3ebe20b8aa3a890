import { type Call, textBetween, unparsed } from '../../dispatch/call.ts';
import type { RequestScope } from '../../dispatch/scope.ts';
import type { WireFacts } from '../wire/to-member.ts';

/**
 * A call as a whole JSON-RPC request. Where nobody has looked at the params yet it is the request as it came: whoever reads it
 * decides on all of it.
 */
export function requestOf({
  procedure,
  id,
  params,
  source,
  start,
  end,
}: Call): string | Uint8Array {
  if (params === unparsed && source !== undefined && start > 0) return source;
  const head = `{"jsonrpc":"2.0","method":${JSON.stringify(procedure.name)}`;
  const tail = id === undefined ? '}' : `,"id":${id}}`;
  if (params === undefined) return head + tail;
  const text = source === undefined ? JSON.stringify(params) : textBetween(source, start, end);
  return `${head},"params":${text}${tail}`;
}

/** What is known of requests, as the JSON text in which it crosses: calls of one request share one text. */
export class FactsOf {
  readonly #keyOf: (scope: RequestScope) => string;
  #scope: RequestScope | undefined;
  #facts: string | undefined;
  /** The text for requests of which no more is known than these two: neighbours often have the same. */
  #ip: string | undefined;
  #key: string | undefined;
  #plain = '{}';

  constructor(keyOf: (scope: RequestScope) => string) {
    this.#keyOf = keyOf;
  }

  of({ scope, trace }: Call): string {
    if (trace !== undefined) return this.#make(scope, trace.traceparent, trace.tracestate);
    if (this.#scope !== scope || this.#facts === undefined) {
      this.#scope = scope;
      this.#facts = this.#make(scope, scope.traceparent, scope.tracestate);
    }
    return this.#facts;
  }

  /** Lets go of the request that was asked for last. */
  forget(): void {
    this.#scope = undefined;
    this.#facts = undefined;
  }

  #make(scope: RequestScope, tp: string | undefined, ts: string | undefined): string {
    const headers = scope.headersText === undefined ? undefined : scope.headers;
    const key = this.#keyOf(scope);
    const { authText: auth, remoteAddress: ip } = scope;
    if (auth ?? headers ?? tp ?? ts) {
      return JSON.stringify({ auth, headers, ip, tp, ts, key } satisfies WireFacts);
    }
    if (ip !== this.#ip || key !== this.#key) {
      this.#ip = ip;
      this.#key = key;
      this.#plain = JSON.stringify({ ip, key } satisfies WireFacts);
    }
    return this.#plain;
  }
}
