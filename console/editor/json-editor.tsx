import type { EditorView } from '@codemirror/view';
import { useEffect, useRef } from 'preact/hooks';
import type { Fault } from '../json/replies.ts';
import type { ProcedureSchema } from '../state/registry.ts';
import { createEditor } from './editor.ts';
import { showFaults } from './faults.ts';
import { paramsSchema } from './suggestions.ts';

interface JsonEditorProps {
  readonly procedure: ProcedureSchema;
  /** What it begins with. Later the editor knows better than the page, which is told of each change. */
  readonly value: string;
  /** What the server has refused. */
  readonly faults: readonly Fault[];
  readonly onChange: (text: string) => void;
}

/**
 * An editor for the params of a procedure, within a shadow root: there its styles are one adopted sheet, where in the page
 * they would be style elements, which the policy of the page forbids.
 */
export function JsonEditor({ procedure, value, faults, onChange }: JsonEditorProps) {
  const host = useRef<HTMLElement>(null);
  const editor = useRef<EditorView>(null);
  const latest = useRef(onChange);
  latest.current = onChange;
  // A reload of the service makes new objects of equal procedures.
  const parameters = JSON.stringify(procedure.parameters);
  useEffect(() => {
    if (host.current === null) return undefined;
    const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: 'open' });
    const schema = paramsSchema(procedure);
    const view = createEditor(root, value, schema, (text) => latest.current(text));
    editor.current = view;
    return () => view.destroy();
  }, [parameters]);
  useEffect(() => {
    if (editor.current !== null) showFaults(editor.current, faults);
  }, [faults]);
  return <json-editor ref={host} class="editor" />;
}

declare module 'preact' {
  namespace JSX {
    interface IntrinsicElements {
      'json-editor': preact.HTMLAttributes<HTMLElement>;
    }
  }
}
