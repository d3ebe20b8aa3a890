import { type EditorState, StateEffect, StateField } from '@codemirror/state';
import { Decoration, type DecorationSet, EditorView, WidgetType } from '@codemirror/view';
import type { Fault } from '../json/replies.ts';
import { valueAt } from './place.ts';

const setFaults = StateEffect.define<readonly Fault[]>();

/** What the server has refused: marked in the text, and explained below the line. */
export const faultMarks = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(setFaults)) return marksOf(transaction.state, effect.value);
    }
    return marks.map(transaction.changes);
  },
  provide: (own) => [
    EditorView.decorations.from(own),
    EditorView.contentAttributes.from(own, (marks) => ({ 'aria-invalid': String(marks.size > 0) })),
  ],
});

/** Shows these faults instead of those before, and moves the cursor to the first. */
export function showFaults(view: EditorView, faults: readonly Fault[]): void {
  const effects = setFaults.of(faults);
  if (faults.length === 0) {
    view.dispatch({ effects });
    return;
  }
  const places = faults.map(({ path }) => valueAt(view.state, path).from);
  view.dispatch({ effects, selection: { anchor: Math.min(...places) }, scrollIntoView: true });
  view.focus();
}

function marksOf(state: EditorState, faults: readonly Fault[]): DecorationSet {
  const marks = faults.flatMap(({ path, message }) => {
    const { from, to, rest } = valueAt(state, path);
    const line = state.doc.lineAt(from);
    const text = rest === '' ? message : `${rest} ${message}`;
    const below = Decoration.widget({ widget: new FaultText(text), block: true, side: 1 });
    const end = Math.min(to, line.to);
    const marked = end > from ? [Decoration.mark({ class: 'refused' }).range(from, end)] : [];
    return [...marked, below.range(line.to)];
  });
  return Decoration.set(marks, true);
}

class FaultText extends WidgetType {
  readonly #text: string;

  constructor(text: string) {
    super();
    this.#text = text;
  }

  override eq(other: FaultText): boolean {
    return other.#text === this.#text;
  }

  toDOM(): HTMLElement {
    const dom = document.createElement('div');
    dom.className = 'fault';
    dom.textContent = this.#text;
    return dom;
  }
}
