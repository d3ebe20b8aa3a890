import { type EditorState, type Extension, Prec, StateEffect, StateField } from '@codemirror/state';
import { EditorView, keymap, showTooltip, type Tooltip } from '@codemirror/view';
import type { JsonSchema } from '../../src/core/schema/write-json.ts';
import { placeAt } from './place.ts';
import { suggestionsAt } from './suggestions.ts';

/** What may stand at the cursor, and which of it the keyboard is at. */
interface Choices {
  readonly from: number;
  readonly to: number;
  readonly texts: readonly string[];
  readonly chosen: number;
}

const most = 12;
const listId = 'choices';
const optionId = (index: number): string => `choice-${index}`;

const setChoices = StateEffect.define<Choices | null>();

/**
 * Completes what is typed from a schema: while a name or a value is typed, and at Ctrl+Space. Arrows choose, Enter takes,
 * Escape closes.
 */
export function completion(schema: JsonSchema): Extension {
  const find = (state: EditorState, isAsked: boolean): Choices | null => {
    const to = state.selection.main.head;
    const place = placeAt(state, to);
    const typed = state.sliceDoc(place.from, to).toLowerCase();
    if (typed === '' && !isAsked) return null;
    const texts = suggestionsAt(schema, place)
      .filter((text) => text.toLowerCase().startsWith(typed) && text.trim() !== typed)
      .slice(0, most);
    return texts.length === 0 ? null : { from: place.from, to, texts, chosen: 0 };
  };
  const field = StateField.define<Choices | null>({
    create: () => null,
    update(choices, transaction) {
      for (const effect of transaction.effects) if (effect.is(setChoices)) return effect.value;
      if (transaction.isUserEvent('input.type')) return find(transaction.state, false);
      return transaction.docChanged || transaction.selection ? null : choices;
    },
    provide: (own) => [
      showTooltip.from(own, (choices) => choices && tooltipOf(choices)),
      EditorView.contentAttributes.from(own, (choices) =>
        choices === null
          ? { 'aria-autocomplete': 'list' }
          : {
              'aria-autocomplete': 'list',
              'aria-controls': listId,
              'aria-activedescendant': optionId(choices.chosen),
            },
      ),
    ],
  });
  const move =
    (by: 1 | -1) =>
    (view: EditorView): boolean => {
      const choices = view.state.field(field);
      if (choices === null) return false;
      const { length } = choices.texts;
      const chosen = (choices.chosen + by + length) % length;
      view.dispatch({ effects: setChoices.of({ ...choices, chosen }) });
      return true;
    };
  const keys = [
    {
      key: 'Ctrl-Space',
      run(view: EditorView) {
        view.dispatch({ effects: setChoices.of(find(view.state, true)) });
        return true;
      },
    },
    { key: 'ArrowDown', run: move(1) },
    { key: 'ArrowUp', run: move(-1) },
    {
      key: 'Enter',
      run(view: EditorView) {
        const choices = view.state.field(field);
        return choices !== null && take(view, choices, choices.chosen);
      },
    },
    {
      key: 'Escape',
      run(view: EditorView) {
        if (view.state.field(field) === null) return false;
        view.dispatch({ effects: setChoices.of(null) });
        return true;
      },
    },
  ];
  return [field, Prec.highest(keymap.of(keys))];
}

function take(view: EditorView, { from, to, texts }: Choices, index: number): boolean {
  const insert = texts[index] ?? '';
  view.dispatch({
    changes: { from, to, insert },
    selection: { anchor: from + insert.length },
    effects: setChoices.of(null),
    userEvent: 'input.complete',
  });
  return true;
}

function tooltipOf(choices: Choices): Tooltip {
  return {
    pos: choices.from,
    create(view) {
      const dom = document.createElement('ul');
      dom.className = 'choices';
      dom.id = listId;
      dom.setAttribute('role', 'listbox');
      dom.setAttribute('aria-label', 'What the schema allows here');
      for (const [index, text] of choices.texts.entries()) {
        const option = document.createElement('li');
        option.id = optionId(index);
        option.textContent = text;
        option.setAttribute('role', 'option');
        option.setAttribute('aria-selected', String(index === choices.chosen));
        option.addEventListener('mousedown', (event) => {
          event.preventDefault();
          take(view, choices, index);
        });
        dom.append(option);
      }
      return { dom };
    },
  };
}
