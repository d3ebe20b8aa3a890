import { type AnyRouter, handleRequest } from '../../../src/index.ts';

type Schema = Readonly<Record<string, unknown>>;

export interface Method {
  readonly name: string;
  readonly description?: string;
  readonly tags?: readonly object[];
  readonly paramStructure: string;
  readonly params: readonly {
    readonly name: string;
    readonly required: boolean;
    readonly schema: Schema;
  }[];
  readonly result: { readonly schema: Schema };
  readonly errors?: readonly object[];
  readonly 'x-additional-params'?: Schema;
  readonly 'x-effects'?: object;
  readonly 'x-errors'?: Readonly<Record<string, { readonly data?: Schema }>>;
  readonly 'x-stream'?: { readonly yields: object };
}

interface OpenRpcDocument {
  readonly info: { readonly version: string };
  readonly methods: readonly Method[];
  readonly components?: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** The OpenRPC document of a router, as its callers get it. */
export async function discover(router: AnyRouter): Promise<OpenRpcDocument> {
  const request = { jsonrpc: '2.0', id: 1, method: 'rpc.discover' };
  const reply = (await handleRequest(request, router)) as { result: OpenRpcDocument };
  return reply.result;
}
