import { type AnyRouter, handleRequest } from '../../../src/index.ts';

interface Method {
  readonly name: string;
  readonly paramStructure: string;
  readonly result: { readonly schema: object };
  readonly 'x-effects'?: object;
  readonly 'x-stream'?: { readonly yields: object };
}

/** The OpenRPC document of a router, as its callers get it. */
export async function discover(router: AnyRouter): Promise<{ readonly methods: Method[] }> {
  const request = { jsonrpc: '2.0', id: 1, method: 'rpc.discover' };
  const reply = (await handleRequest(request, router)) as { result: { methods: Method[] } };
  return reply.result;
}
