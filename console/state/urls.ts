import { signal } from '@preact/signals';
import { callsUrl, facts } from '../facts.ts';
import { itemsOf, membersOf } from '../json/raw.ts';
import { requestHeaders } from './headers.ts';

/** A procedure as plain HTTP, as the OpenAPI document shows it. */
export interface ProcedureUrl {
  readonly url: string;
  /** `get`: the params are the query; `post`: they are the body. */
  readonly method: 'get' | 'post';
  /** The statuses of its declared errors, by their names. */
  readonly statuses: Readonly<Record<string, number>>;
}

/** The OpenAPI document. The page lies one folder below what the paths of this server begin at. */
export const documentUrl: string = new URL('../openapi.json', document.baseURI).href;

/** By the procedures' names: the options of a procedure or of the service may leave some out. */
export const urls = signal<ReadonlyMap<string, ProcedureUrl>>(new Map());

interface OpenApiOperation {
  readonly 'x-errors'?: Readonly<Record<string, { readonly status: number }>>;
}

interface OpenApiPaths {
  readonly paths: Readonly<
    Record<string, { readonly get?: OpenApiOperation; readonly post?: OpenApiOperation }>
  >;
}

let etag: string | null = null;

/** Loads the URLs, unless they are those that are known. The page keeps what it knows if that fails. */
export async function loadUrls(): Promise<void> {
  const { urls: prefix } = facts;
  if (callsUrl === undefined || prefix === null || !facts.introspection) return;
  const source = `${callsUrl}?format=openapi`;
  try {
    const response = await fetch(source, { headers: requestHeaders(), cache: 'no-cache' });
    if (!response.ok || response.headers.get('etag') === etag) return;
    const { paths } = (await response.json()) as OpenApiPaths;
    etag = response.headers.get('etag');
    urls.value = new Map(
      Object.entries(paths).map(([path, { get, post }]) => {
        const errors = Object.entries((get ?? post)?.['x-errors'] ?? {});
        const url: ProcedureUrl = {
          url: new URL(`..${path}`, document.baseURI).href,
          method: get ? 'get' : 'post',
          statuses: Object.fromEntries(errors.map(([name, { status }]) => [name, status])),
        };
        return [path.slice(prefix.length + 1), url] as const;
      }),
    );
  } catch {
    // The service may be restarting, and the next look is soon.
  }
}

/** @param params JSON text; empty: none */
export function urlWith({ url, method }: ProcedureUrl, params: string): string {
  if (method === 'post') return url;
  const query = new URLSearchParams();
  for (const [name, value] of membersOf(params) ?? []) {
    for (const one of itemsOf(value) ?? [value]) {
      // Numbers stay as they are written.
      query.append(name, one.startsWith('"') ? (JSON.parse(one) as string) : one);
    }
  }
  const text = query.toString();
  return text === '' ? url : `${url}?${text}`;
}
