import { signal } from '@preact/signals';

/** A header that goes with each request. It lives in memory only, and is gone with the page. */
export interface Header {
  readonly id: number;
  readonly name: string;
  readonly value: string;
}

export const headers = signal<readonly Header[]>([]);
export const headersOpen = signal(false);

let lastId = 0;

export function addHeader(name = '', value = ''): void {
  headers.value = [...headers.value, { id: ++lastId, name, value }];
}

export function changeHeader(id: number, change: Partial<Header>): void {
  headers.value = headers.value.map((one) => (one.id === id ? { ...one, ...change } : one));
}

export function removeHeader(id: number): void {
  headers.value = headers.value.filter((one) => one.id !== id);
}

/** Those that have a name, as fetch takes them. */
export function requestHeaders(): Record<string, string> {
  const named = headers.value.filter(({ name }) => name.trim() !== '');
  return Object.fromEntries(named.map(({ name, value }) => [name.trim().toLowerCase(), value]));
}
