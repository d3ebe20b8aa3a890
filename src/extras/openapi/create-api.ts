import { serviceName } from '../../core/base/package-files.ts';
import type { Log } from '../../core/observe/log.ts';
import type { Dispatcher } from '../../core/service/dispatcher.ts';
import type { HttpOptions } from '../../server/http/edge/http-options.ts';
import { TrustedOrigins } from '../../server/http/edge/trusted-origins.ts';
import { formTypes, mediaTypeOf } from './accept.ts';
import { openApiBytes } from './document.ts';
import { HttpApi } from './http-api.ts';

/** @param asksWho whether somebody is asked who calls */
export function createHttpApi(
  dispatcher: Dispatcher,
  http: HttpOptions,
  asksWho: boolean,
): HttpApi {
  const { config } = dispatcher;
  const { httpProcedures, httpAuth, maxDepth } = config;
  const { forwardHeaders, corsHeaders } = http;
  return new HttpApi(dispatcher, {
    procedures: httpProcedures,
    asksWho,
    auth: httpAuth,
    forwardHeaders,
    corsHeaders,
    origins: new TrustedOrigins(http),
    maxDepth,
    documentOf: (operations) =>
      openApiBytes(operations, { ...config, title: serviceName(), asksWho }),
  });
}

/**
 * Once something is served: says which patterns name no procedure, and what can't be reached as its author may think.
 *
 * @throws StartupError for a procedure whose answers must not be kept as it is declared
 */
export async function checkHttpApi(api: HttpApi, log: Log): Promise<void> {
  const operations = await api.operations();
  if (operations === undefined) return;
  operations.assertCaches();
  const warn = (message: string): void => log.warn({ event: 'http-api' }, message);
  for (const pattern of operations.unmatched) {
    warn(`httpProcedures: no procedure is called ${pattern}`);
  }
  if (operations.withoutUrl.length > 0) {
    warn(`no URL can hold these names, so they are left out: ${operations.withoutUrl.join(', ')}`);
  }
  for (const name of operations.procedures.keys()) {
    const { mediaType } = operations.find(name)?.bytesParam ?? {};
    const type = mediaType === undefined ? undefined : mediaTypeOf(mediaType);
    if (type === undefined || !formTypes.includes(type)) continue;
    warn(
      `${name}: pages of any origin may send ${type}, so its bytes come as application/octet-stream or in JSON`,
    );
  }
}
