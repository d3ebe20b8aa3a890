import { signal } from '@preact/signals';
import { requestText } from './send.ts';

/** A call that is to travel with others. */
export interface BatchEntry {
  readonly key: number;
  readonly method: string;
  /** JSON text; empty: none. */
  readonly params: string;
  readonly isNotification: boolean;
}

export const batch = signal<readonly BatchEntry[]>([]);

let lastKey = 0;

export function addToBatch(method: string, params: string): void {
  batch.value = [...batch.value, { key: ++lastKey, method, params, isNotification: false }];
}

export function removeFromBatch(key: number): void {
  batch.value = batch.value.filter((entry) => entry.key !== key);
}

/** Moves an entry by so many places, where there is one. */
export function moveInBatch(key: number, by: -1 | 1): void {
  const entries = [...batch.value];
  const from = entries.findIndex((entry) => entry.key === key);
  const [entry] = entries.splice(from, 1);
  if (entry === undefined || from + by < 0 || from + by > entries.length) return;
  entries.splice(from + by, 0, entry);
  batch.value = entries;
}

export function toggleNotification(key: number): void {
  batch.value = batch.value.map((entry) =>
    entry.key === key ? { ...entry, isNotification: !entry.isNotification } : entry,
  );
}

export function batchText(entries: readonly BatchEntry[]): string {
  const texts = entries.map(({ method, params, isNotification }, at) =>
    requestText(method, params, isNotification ? undefined : at + 1),
  );
  return `[${texts.join(',\n ')}]`;
}
