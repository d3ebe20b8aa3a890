import { history, historyKeymap, standardKeymap } from '@codemirror/commands';
import { json, jsonParseLinter } from '@codemirror/lang-json';
import { bracketMatching, HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { linter } from '@codemirror/lint';
import { EditorState } from '@codemirror/state';
import { drawSelection, EditorView, keymap } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { useEffect, useRef } from 'preact/hooks';
import type { JsonSchema } from '../../src/core/schema/write-json.ts';
import type { Fault } from '../json/replies.ts';
import type { ProcedureSchema } from '../state/registry.ts';
import { completion } from './completion.ts';
import { faultMarks, showFaults } from './faults.ts';
import { paramsSchema } from './suggestions.ts';

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--j-name)' },
  { tag: tags.string, color: 'var(--good)' },
  { tag: tags.number, color: 'var(--j-number)' },
  { tag: [tags.bool, tags.null], color: 'var(--j-word)' },
]);

const theme = EditorView.theme({
  '&': { fontSize: '13px', color: 'var(--text)', backgroundColor: 'var(--field)' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-1px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.5' },
  '.cm-content': { minHeight: '76px', padding: '8px 4px', caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground':
    { backgroundColor: 'var(--selection)' },
  '.cm-tooltip': {
    backgroundColor: 'var(--raised)',
    color: 'var(--text)',
    border: '1px solid var(--line)',
  },
  '.choices': {
    margin: '0',
    padding: '4px 0',
    listStyle: 'none',
    fontFamily: 'var(--mono)',
    borderRadius: '6px',
  },
  '.choices li': { padding: '2px 12px', cursor: 'pointer' },
  '.choices li[aria-selected=true]': {
    backgroundColor: 'var(--accent)',
    color: 'var(--on-accent)',
  },
  '.refused': { textDecoration: 'underline wavy var(--bad)', textUnderlineOffset: '3px' },
  '.fault': { padding: '0 8px 4px 24px', color: 'var(--bad)' },
  '&.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--selection)' },
});

const parseLinter = jsonParseLinter();

/**
 * An editor in an empty shadow root.
 *
 * @param onChange told of the whole text at each change
 */
function createEditor(
  root: ShadowRoot,
  text: string,
  schema: JsonSchema,
  onChange: (text: string) => void,
): EditorView {
  return new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: text,
      extensions: [
        history(),
        drawSelection(),
        bracketMatching(),
        json(),
        syntaxHighlighting(colours),
        // Nothing is no mistake yet.
        linter((own) => (own.state.doc.toString().trim() === '' ? [] : parseLinter(own))),
        completion(schema),
        faultMarks,
        // Tab goes on to the next control, as everywhere on the page. Ctrl+Enter is the page's.
        keymap.of([...standardKeymap.filter(({ key }) => key !== 'Mod-Enter'), ...historyKeymap]),
        theme,
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ 'aria-label': 'Params as JSON' }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) onChange(update.state.doc.toString());
        }),
      ],
    }),
  });
}

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
