import { lookup } from 'node:dns/promises';
import type { Service } from '../dispatch/service.ts';
import type { HttpServer } from './http-server.ts';
import { codeOf, listenError } from './listen-error.ts';
import { listenOnNode } from './node-server.ts';
import { assertHttpOptions, type HttpOptions } from './options.ts';
import { listenOnUws } from './uws.ts';
import type { UwsLoad } from './uws-load.ts';

/** `auto`: uWebSockets.js, or node:http with one warning line where its binary can't load. */
export type Transport = 'auto' | 'uws' | 'node';

/** `listen` of server.ts, with the way to the native module given to it. */
export async function listenWith(
  load: () => Promise<UwsLoad>,
  service: Service,
  options: HttpOptions,
  transport: Transport,
): Promise<HttpServer> {
  assertHttpOptions(options);
  const host = await resolveHost(options);
  if (transport === 'node') return listenOnNode(service, options, host);
  const { uws, reason } = await load();
  if (uws !== undefined) return listenOnUws(uws, service, options, host);
  if (transport === 'uws') {
    const error = new Error(`uWebSockets.js cannot load: ${reason}`);
    throw Object.assign(error, { code: 'ERR_UWS_UNAVAILABLE' });
  }
  options.warn(`uWebSockets.js cannot load (${reason}): serving on node:http, which is slower`);
  return listenOnNode(service, options, host);
}

/** Both transports get one and the same address: each would resolve a name in its own order. */
async function resolveHost({ host, port }: HttpOptions): Promise<string> {
  try {
    return (await lookup(host)).address;
  } catch (error) {
    throw listenError(codeOf(error), host, port);
  }
}
