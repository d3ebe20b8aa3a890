import { useEffect, useRef } from 'preact/hooks';
import type { JsonSchema } from '../schema/resolve.ts';
import { createEditor } from './editor.ts';

interface JsonEditorProps {
  /** What it begins with. Later the editor knows better than the page, which is told of each change. */
  readonly value: string;
  readonly schema: JsonSchema;
  readonly onChange: (text: string) => void;
}

/**
 * An editor for JSON, within a shadow root: there its styles are one adopted sheet, where in the page they would be
 * style elements, which the policy of the page forbids.
 */
export function JsonEditor({ value, schema, onChange }: JsonEditorProps) {
  const host = useRef<HTMLElement>(null);
  const latest = useRef(onChange);
  latest.current = onChange;
  useEffect(() => {
    if (host.current === null) return undefined;
    const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: 'open' });
    return createEditor(root, value, schema, (text) => latest.current(text));
  }, [schema]);
  return <json-editor ref={host} class="editor" />;
}

declare module 'preact' {
  namespace JSX {
    interface IntrinsicElements {
      'json-editor': preact.HTMLAttributes<HTMLElement>;
    }
  }
}
