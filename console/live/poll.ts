import { signal } from '@preact/signals';
import { figuresUrl } from '../facts.ts';
import { type Failed, failedBy, refusedBy } from '../state/failure.ts';
import { requestHeaders } from '../state/headers.ts';
import type { Figures } from './figures.ts';
import { Samples } from './samples.ts';

/** What the live page knows. */
export type Live =
  | { readonly state: 'loading' }
  | { readonly state: 'ready'; readonly figures: Figures; readonly samples: Samples }
  | Failed;

export const live = signal<Live>({ state: 'loading' });

/** How long after an answer the next one is asked for. */
const everyMs = 1000;

const samples = new Samples();

async function ask(): Promise<void> {
  try {
    const response = await fetch(figuresUrl, { headers: requestHeaders(), cache: 'no-store' });
    const body = (await response.json()) as unknown;
    if (!response.ok) {
      live.value = refusedBy(response, body);
      return;
    }
    const figures = body as Figures;
    samples.take(figures);
    live.value = { state: 'ready', figures, samples };
  } catch (error) {
    live.value = failedBy(error);
  }
}

let isPolling = false;
let timer: ReturnType<typeof setTimeout> | undefined;

/**
 * Asks for the figures each second while the page is looked at. A refusal is not asked again by itself: whoever reads it
 * changes the headers first.
 *
 * @returns what ends it
 */
export function poll(): () => void {
  isPolling = true;
  const next = async (): Promise<void> => {
    clearTimeout(timer);
    if (!document.hidden) await ask();
    const { value } = live;
    if (!isPolling || (value.state === 'failed' && value.isRefusal)) return;
    clearTimeout(timer);
    timer = setTimeout(() => void next(), everyMs);
  };
  void next();
  return () => {
    isPolling = false;
    clearTimeout(timer);
  };
}
