import { useRef } from 'preact/hooks';
import { type Draft, emptyDraft } from '../schema/draft.ts';
import type { JsonSchema, Placed } from '../schema/resolve.ts';
import type { HoldsFields } from './contract.ts';

interface ListProps extends HoldsFields {
  readonly label: string;
  readonly path: string;
  readonly placed: Placed;
  readonly value: Draft;
  readonly items: JsonSchema;
  readonly onChange: (value: Draft) => void;
}

export function ListField({ Field, label, path, placed, value, items, onChange }: ListProps) {
  const list = Array.isArray(value) ? (value as Draft[]) : [];
  const itemPlaced = { schema: items, root: placed.root };
  const keys = useKeys(list.length);
  return (
    <>
      {list.map((item, index) => (
        <Field
          key={keys[index]}
          label={`${index}`}
          path={`${path}/${index}`}
          placed={itemPlaced}
          value={item}
          isRequired
          onChange={(next) => onChange(list.with(index, next))}
          extra={
            <button
              type="button"
              class="quiet"
              onClick={() => {
                keys.splice(index, 1);
                onChange(list.filter((_, at) => at !== index));
              }}
            >
              Remove
              <span class="unseen">
                {' '}
                item {index} of {label}
              </span>
            </button>
          }
        />
      ))}
      <div class="left-out">
        <button
          type="button"
          class="chip"
          onClick={() => onChange([...list, emptyDraft(itemPlaced)])}
        >
          + item<span class="unseen"> of {label}</span>
        </button>
      </div>
    </>
  );
}

/** A key for each item that stays its own where an item before it goes: some controls know what was typed into them. */
function useKeys(length: number): number[] {
  const last = useRef(0);
  const keys = useRef<number[]>([]).current;
  while (keys.length < length) keys.push(++last.current);
  keys.length = length;
  return keys;
}

interface TupleProps extends Omit<ListProps, 'items' | 'label'> {
  readonly items: readonly JsonSchema[];
}

export function TupleField({ Field, path, placed, value, items, onChange }: TupleProps) {
  const list = Array.isArray(value) ? (value as Draft[]) : [];
  return (
    <>
      {items.map((schema, index) => (
        <Field
          key={index}
          label={`${index}`}
          path={`${path}/${index}`}
          placed={{ schema, root: placed.root }}
          value={list[index]}
          isRequired
          onChange={(next) => onChange(items.map((_, at) => (at === index ? next : list[at])))}
        />
      ))}
    </>
  );
}
