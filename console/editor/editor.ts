import {
  autocompletion,
  type CompletionContext,
  type CompletionResult,
  completionKeymap,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { json, jsonParseLinter } from '@codemirror/lang-json';
import {
  bracketMatching,
  HighlightStyle,
  indentOnInput,
  syntaxHighlighting,
  syntaxTree,
} from '@codemirror/language';
import { linter } from '@codemirror/lint';
import { EditorState } from '@codemirror/state';
import { drawSelection, EditorView, keymap } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import type { JsonSchema } from '../schema/resolve.ts';
import { type Place, suggestionsAt } from './suggestions.ts';

export interface Editor {
  /** Shows another text, unless it is the one that is there. */
  show(text: string): void;
  destroy(): void;
}

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--j-name)' },
  { tag: tags.string, color: 'var(--j-string)' },
  { tag: tags.number, color: 'var(--j-number)' },
  { tag: [tags.bool, tags.null], color: 'var(--j-word)' },
]);

const theme = EditorView.theme({
  '&': { fontSize: '13px', color: 'var(--text)', backgroundColor: 'var(--field)' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-1px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.5' },
  '.cm-content': { minHeight: '140px', padding: '8px 4px', caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground':
    { backgroundColor: 'var(--selection)' },
  '.cm-tooltip': {
    backgroundColor: 'var(--raised)',
    color: 'var(--text)',
    border: '1px solid var(--line)',
  },
  '.cm-tooltip-autocomplete ul li[aria-selected]': {
    backgroundColor: 'var(--accent)',
    color: 'var(--on-accent)',
  },
  '&.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--selection)' },
});

const parseLinter = jsonParseLinter();

export function createEditor(
  root: ShadowRoot,
  text: string,
  schema: JsonSchema,
  onChange: (text: string) => void,
): Editor {
  const complete = (context: CompletionContext): CompletionResult | null => {
    const node = syntaxTree(context.state).resolveInner(context.pos, -1);
    const place = placeOf(context, node);
    if (place === undefined || (!context.explicit && place.from === context.pos)) return null;
    const options = suggestionsAt(schema, place).map((label) => ({ label }));
    return options.length === 0 ? null : { from: place.from, options };
  };
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: text,
      extensions: [
        history(),
        drawSelection(),
        indentOnInput(),
        bracketMatching(),
        json(),
        syntaxHighlighting(colours),
        // Nothing is no mistake yet.
        linter((own) => (own.state.doc.toString().trim() === '' ? [] : parseLinter(own))),
        autocompletion({ override: [complete], icons: false }),
        // Tab goes on to the next control, as everywhere on the page. Ctrl+Enter is the page's.
        keymap.of([
          ...completionKeymap,
          ...defaultKeymap.filter(({ key }) => key !== 'Mod-Enter'),
          ...historyKeymap,
        ]),
        theme,
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ 'aria-label': 'Params as JSON' }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) onChange(update.state.doc.toString());
        }),
      ],
    }),
  });
  return {
    show(next) {
      const now = view.state.doc.toString();
      if (next !== now) view.dispatch({ changes: { from: 0, to: now.length, insert: next } });
    },
    destroy: () => view.destroy(),
  };
}

type SyntaxNode = ReturnType<ReturnType<typeof syntaxTree>['resolveInner']>;

/** Where the cursor is within the value: the names that lead there, and whether a name or a value is to come. */
function placeOf({ state, pos }: CompletionContext, node: SyntaxNode): Place | undefined {
  const textOf = ({ from, to }: { from: number; to: number }): string => state.sliceDoc(from, to);
  const path: string[] = [];
  const before: string[] = [];
  let isName = node.name === 'Object' || node.name === 'PropertyName';
  for (let at: SyntaxNode | null = node; at !== null; at = at.parent) {
    const { parent } = at;
    if (at.name === 'Property') {
      const name = at.getChild('PropertyName');
      if (name !== null && !(isName && path.length === 0 && name.to >= pos)) {
        path.unshift(unquoted(textOf(name)));
      }
    } else if (parent?.name === 'Array') {
      path.unshift('*');
    } else if (at.name === 'Object' && before.length === 0 && isName) {
      for (const property of at.getChildren('Property')) {
        const name = property.getChild('PropertyName');
        if (name !== null && name.to < pos) before.push(unquoted(textOf(name)));
      }
    }
  }
  const isLeaf = node.name === 'PropertyName' || node.name === 'String' || node.name === 'Number';
  if (node.name === '⚠' || node.name === 'JsonText') isName = false;
  const from = isLeaf ? node.from : pos;
  return { path, isName, present: before, from };
}

function unquoted(text: string): string {
  return text.replace(/^"|"$/g, '');
}
