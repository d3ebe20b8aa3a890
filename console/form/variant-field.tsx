import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { emptyDraft } from '../schema/draft.ts';
import { type JsonSchema, labelOf } from '../schema/resolve.ts';
import { validate } from '../schema/validate.ts';
import { type FieldProps, fieldId, type HoldsFields } from './contract.ts';

interface VariantProps extends FieldProps, HoldsFields {
  readonly variants: readonly JsonSchema[];
  readonly head: VNode;
  readonly notes: VNode;
}

/** A value that may have one of several forms: first which, then the value. */
export function VariantField(props: VariantProps) {
  const { path, placed, value, variants, onChange, extra, head, notes, Field } = props;
  const { root } = placed;
  const [chosen, choose] = useState(() =>
    value === undefined ? -1 : fitting(variants, value, root),
  );
  const id = fieldId(path);
  const take = (index: number): void => {
    choose(index);
    const schema = variants[index];
    onChange(schema === undefined ? undefined : emptyDraft({ schema, root }));
  };
  const schema = variants[chosen];
  return (
    <fieldset class="group">
      <legend>
        {head}
        {extra}
      </legend>
      <select
        id={`${id}-form`}
        aria-label={`Form of ${props.label}`}
        value={String(chosen)}
        onChange={(event) => take(Number(event.currentTarget.value))}
      >
        <option value="-1">choose</option>
        {variants.map((variant, index) => (
          <option key={index} value={String(index)}>
            {labelOf({ schema: variant, root })}
          </option>
        ))}
      </select>
      {schema === undefined && notes}
      {schema !== undefined && (
        <Field
          key={chosen}
          label={labelOf({ schema, root })}
          path={path}
          placed={{ schema, root }}
          value={value}
          isRequired
          onChange={onChange}
        />
      )}
    </fieldset>
  );
}

function fitting(variants: readonly JsonSchema[], value: unknown, root: JsonSchema): number {
  return variants.findIndex(
    (schema) => validate({ ...schema, $defs: root.$defs }, value).size === 0,
  );
}
