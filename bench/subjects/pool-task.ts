import { type Add, add, type Burn, burn } from './work.ts';

/** The module that the rivals' worker threads run: piscina calls the default export or a named one. */
export default function pooledAdd(params: Add): number {
  return add(params);
}

export function pooledBurn(params: Burn): number {
  return burn(params);
}

interface Call {
  readonly id: number;
  readonly method: string;
  readonly params: unknown;
}

/** From the text of a JSON-RPC call or batch to the text of its reply. Nothing is checked. */
export function answer(text: string): string {
  const request = JSON.parse(text) as Call | Call[];
  return Array.isArray(request) ? `[${request.map(replyTo).join(',')}]` : replyTo(request);
}

function replyTo({ id, method, params }: Call): string {
  const result = method === 'burn' ? burn(params as Burn) : add(params as Add);
  return `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
}
