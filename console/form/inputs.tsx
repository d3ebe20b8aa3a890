import { useMemo } from 'preact/hooks';
import { isMoreThanNumber } from '../json/raw.ts';
import { type Draft, textOfDraft, Unparsed } from '../schema/draft.ts';
import type { JsonSchema } from '../schema/resolve.ts';

export interface InputProps {
  readonly id: string;
  readonly value: Draft;
  readonly onChange: (value: Draft) => void;
  readonly isRequired: boolean;
  readonly isWrong: boolean;
  readonly describedBy: string | undefined;
  readonly schema: JsonSchema;
}

/** What every control says of itself to assistive technology. */
function stateOf({ id, isWrong, describedBy, isRequired }: InputProps) {
  return {
    id,
    'aria-invalid': isWrong,
    'aria-describedby': describedBy,
    'aria-required': isRequired,
  } as const;
}

function exampleOf({ examples }: JsonSchema): string | undefined {
  const first: unknown = Array.isArray(examples) ? examples[0] : undefined;
  return first === undefined
    ? undefined
    : typeof first === 'string'
      ? first
      : JSON.stringify(first);
}

/** Longer texts get more than one line. */
const longText = 120;

export function TextInput(props: InputProps) {
  const { value, onChange, schema } = props;
  const text = typeof value === 'string' ? value : '';
  const common = {
    ...stateOf(props),
    value: text,
    placeholder: exampleOf(schema),
    spellcheck: false,
    autocomplete: 'off',
    onInput: (event: Event) => onChange((event.target as HTMLInputElement).value),
  };
  const isLong = text.length > longText || text.includes('\n') || Number(schema.maxLength) > 500;
  return isLong ? <textarea rows={4} {...common} /> : <input type="text" {...common} />;
}

export function NumberInput(props: InputProps) {
  const { value, onChange, schema } = props;
  const take = (text: string): void => {
    const typed = text.trim();
    if (typed === '') onChange(undefined);
    // What is no number stays as it was typed: the check says so.
    else if (!/^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(typed)) onChange(text);
    else onChange(isMoreThanNumber(typed) ? new Unparsed(typed) : Number(typed));
  };
  return (
    <input
      {...stateOf(props)}
      type="text"
      inputMode={schema.type === 'integer' ? 'numeric' : 'decimal'}
      autocomplete="off"
      placeholder={exampleOf(schema)}
      defaultValue={numberText(value)}
      onInput={(event) => take(event.currentTarget.value)}
    />
  );
}

function numberText(value: Draft): string {
  if (value instanceof Unparsed) return value.text;
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

export function SwitchInput(props: InputProps) {
  const { value, onChange } = props;
  // One that is not checked is a value, too.
  const { 'aria-required': _required, ...switchState } = stateOf(props);
  return (
    <input
      {...switchState}
      type="checkbox"
      checked={value === true}
      onChange={(event) => onChange(event.currentTarget.checked)}
    />
  );
}

export function ChoiceInput(props: InputProps & { readonly values: readonly unknown[] }) {
  const { value, values, onChange, schema } = props;
  const text = JSON.stringify(value);
  const at = values.findIndex((one) => one === value || JSON.stringify(one) === text);
  // There may be thousands, which stay while other fields change.
  const options = useMemo(
    () =>
      values.map((one, index) => (
        <option key={index} value={String(index)}>
          {typeof one === 'string' ? one : JSON.stringify(one)}
        </option>
      )),
    [schema.enum, schema.anyOf, schema.oneOf, schema.const],
  );
  return (
    <select
      {...stateOf(props)}
      value={String(at)}
      onChange={(event) => onChange(values[Number(event.currentTarget.value)])}
    >
      {at === -1 && <option value="-1">choose</option>}
      {options}
    </select>
  );
}

/** A value of which the schema says too little for a form. */
export function JsonInput(props: InputProps) {
  const { value, onChange } = props;
  const text = value instanceof Unparsed ? value.text : textOfDraft(value);
  const take = (typed: string): void =>
    onChange(typed.trim() === '' ? undefined : new Unparsed(typed));
  return (
    <textarea
      {...stateOf(props)}
      class="code"
      rows={2}
      spellcheck={false}
      placeholder="JSON"
      value={text}
      onInput={(event) => take(event.currentTarget.value)}
    />
  );
}
