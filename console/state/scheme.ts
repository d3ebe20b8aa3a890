import { signal } from '@preact/signals';

const schemes = ['auto', 'light', 'dark'] as const;

/** The colours: those of the system, until somebody asks for others. Kept until the page is left. */
export const scheme = signal<(typeof schemes)[number]>('auto');

export function nextScheme(): void {
  const next = schemes[(schemes.indexOf(scheme.value) + 1) % schemes.length] ?? 'auto';
  document.documentElement.style.colorScheme = next === 'auto' ? 'light dark' : next;
  scheme.value = next;
}
