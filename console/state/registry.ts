import { computed, signal } from '@preact/signals';
import type {
  ProcedureSchema,
  RegistrySchema,
} from '../../src/core/procedures/document/introspect.ts';
import { callsUrl, facts } from '../facts.ts';
import { type Failed, failedBy, refusedBy } from './failure.ts';
import { requestHeaders } from './headers.ts';
import { loadUrls } from './urls.ts';

export type { ProcedureSchema };

/** What is known of the procedures. */
export type Registry =
  | { readonly state: 'loading' }
  | { readonly state: 'ready'; readonly procedures: RegistrySchema }
  /** The service does not describe itself, or takes no calls here. */
  | { readonly state: 'none' }
  | Failed;

const isDescribed = callsUrl !== undefined && facts.introspection;

export const registry = signal<Registry>({ state: isDescribed ? 'loading' : 'none' });

export const procedures = computed<readonly ProcedureSchema[]>(() =>
  registry.value.state === 'ready' ? Object.values(registry.value.procedures) : [],
);

/** How often the document is asked for anew: a reload may have changed it. An unchanged one is a 304. */
const refreshMs = 10_000;

let etag: string | null = null;

/** Loads the document, unless it is the one that is shown. */
export async function loadRegistry(): Promise<void> {
  if (callsUrl === undefined || !facts.introspection) return;
  void loadUrls();
  try {
    const response = await fetch(callsUrl, { headers: requestHeaders(), cache: 'no-cache' });
    // The page keeps what it shows: the service may be full, or may be ending.
    const isRefusal = response.status === 403 || response.status === 401;
    if (!response.ok && !isRefusal && registry.value.state === 'ready') return;
    const isNew = response.headers.get('etag') !== etag || registry.value.state !== 'ready';
    if (response.ok && !isNew) return;
    const body = (await response.json()) as RegistrySchema;
    etag = response.headers.get('etag');
    registry.value = response.ok ? { state: 'ready', procedures: body } : refusedBy(response, body);
  } catch (error) {
    // The page keeps what it shows: the service may be restarting.
    if (registry.value.state !== 'ready') registry.value = failedBy(error);
  }
}

/** Keeps the document current while the page is looked at. */
export function keepCurrent(): void {
  const refresh = async (): Promise<void> => {
    if (!document.hidden) await loadRegistry();
    setTimeout(() => void refresh(), refreshMs);
  };
  void refresh();
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) void loadRegistry();
  });
}
