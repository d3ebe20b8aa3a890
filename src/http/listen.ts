import type { Service } from '../dispatch/service.ts';
import type { HttpOptions } from './edge/http-options.ts';
import type { HttpServer } from './edge/http-server.ts';
import { listenWith, type ServerKind } from './transport.ts';
import { loadUws } from './uws/load.ts';

/**
 * Serves `service` over HTTP.
 *
 * @throws Error with a `code` and a one-line message: EADDRINUSE and the operating system's others,
 *   ENOTFOUND for the host, ERR_UWS_UNAVAILABLE where `uws` was asked for and can't load,
 *   ERR_PORT_NOT_SHARED where `sharedPort` was and only node:http is there
 * @throws TypeError for an option that can't be served (see assertHttpOptions)
 */
export function listen(
  service: Service,
  options: HttpOptions,
  transport: ServerKind,
): Promise<HttpServer> {
  return listenWith(loadUws, service, options, transport);
}
