import type { Fetch } from '../../client/request.ts';

/**
 * Longest body. A document of 50,000 procedures takes a tenth of it; a server that never stops sending must be cut.
 */
const maxBytes = 64 * 1024 * 1024;

type Init = Parameters<Fetch>[1];

export interface LimitedResponse {
  readonly status: number;
  readonly headers: Headers;
  text(): Promise<string>;
}

/** fetch for servers that are not trusted: redirects are not followed, and the length of a body is limited. */
export async function limitedFetch(
  url: string,
  init: Pick<Init, 'headers' | 'signal'> & { readonly method: string; readonly body?: string },
): Promise<LimitedResponse> {
  const response = await fetch(url, { ...init, redirect: 'manual' });
  const { status, headers } = response;
  return { status, headers, text: () => readText(response) };
}

/** @throws Error for a body that is too long */
export async function readText(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.byteLength;
    if (bytes > maxBytes) throw new Error(`the reply is larger than ${maxBytes} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}
