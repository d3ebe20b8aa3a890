import { useEffect, useState } from 'preact/hooks';

/** Copies a text, and says that it did. */
export function CopyButton({ text, what }: { readonly text: () => string; readonly what: string }) {
  const [state, setState] = useState<'idle' | 'copied' | 'failed'>('idle');
  useEffect(() => {
    if (state === 'idle') return undefined;
    const timer = setTimeout(() => setState('idle'), 1500);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text());
      setState('copied');
    } catch {
      setState('failed');
    }
  };
  return (
    <button type="button" class="quiet" onClick={() => void copy()}>
      <span aria-live="polite">
        {state === 'copied' ? 'Copied' : state === 'failed' ? 'Not allowed' : 'Copy'}
      </span>
      <span class="unseen"> {what}</span>
    </button>
  );
}
