import { signal } from '@preact/signals';
import { callsUrl } from '../facts.ts';

export type Route =
  | { readonly view: 'procedures' }
  | { readonly view: 'procedure'; readonly name: string }
  | { readonly view: 'batch' | 'history' | 'live' };

export const route = signal<Route>({ view: 'procedures' });

function toRoute(hash: string): Route {
  const [, view = '', ...rest] = hash.split('/');
  if (view === 'p') return { view: 'procedure', name: decode(rest.join('/')) };
  if (view === 'live' || callsUrl === undefined) return { view: 'live' };
  return view === 'batch' || view === 'history' ? { view } : { view: 'procedures' };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function procedureHash(name: string): string {
  return `#/p/${encodeURIComponent(name)}`;
}

export function followRoute(): void {
  const follow = (): void => {
    route.value = toRoute(location.hash);
  };
  follow();
  addEventListener('hashchange', follow);
}
