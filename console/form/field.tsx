import { useContext } from 'preact/hooks';
import type { Draft } from '../schema/draft.ts';
import { emptyDraft, toPointerPart } from '../schema/draft.ts';
import { type JsonSchema, type Kind, kindOf, type Placed, resolve } from '../schema/resolve.ts';
import { FaultsOfForm, type FieldProps, fieldId } from './contract.ts';
import { ChoiceInput, JsonInput, NumberInput, SwitchInput, TextInput } from './inputs.tsx';
import { ListField, TupleField } from './list-field.tsx';
import { VariantField } from './variant-field.tsx';

/** Fields below this are written as JSON: a schema that requires itself has no last one. */
const deepestField = 16;
const inJson: Kind = { kind: 'json' };

function depthOf(path: string): number {
  return path.split('/').length;
}

/** A value of any schema, with its label, what it must be and what is wrong with it. */
function Field(props: FieldProps) {
  const { label, path, placed, value, isRequired, onChange, extra } = props;
  const fault = useContext(FaultsOfForm).get(path);
  const { schema, root } = resolve(placed);
  const own = { ...schema, ...placed.schema };
  const kind = depthOf(path) > deepestField ? inJson : kindOf(schema);
  const id = fieldId(path);
  const hint = hintOf(own);
  const described = [hint && `${id}-hint`, fault && `${id}-fault`].filter(Boolean).join(' ');
  const control = {
    id,
    value,
    onChange,
    isRequired,
    isWrong: fault !== undefined,
    describedBy: described === '' ? undefined : described,
    schema: own,
  };
  const notes = (
    <>
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {fault && (
        <p class="fault" id={`${id}-fault`}>
          {fault}
        </p>
      )}
    </>
  );
  const head = (
    <span class="label-text">
      <code>{label}</code>
      <span class="type">{typeWords(own, kind.kind)}</span>
      {isRequired ? <span class="required">required</span> : null}
    </span>
  );
  if (kind.kind === 'object' || kind.kind === 'list' || kind.kind === 'tuple') {
    const inner = { path, placed: { schema, root }, value, onChange };
    return (
      <fieldset class="group" id={id} tabIndex={-1} aria-describedby={control.describedBy}>
        <legend>
          {head}
          {extra}
        </legend>
        {notes}
        {kind.kind === 'object' && <Members {...inner} />}
        {kind.kind === 'list' && (
          <ListField {...inner} Field={Field} items={kind.items} label={label} />
        )}
        {kind.kind === 'tuple' && <TupleField {...inner} Field={Field} items={kind.items} />}
      </fieldset>
    );
  }
  if (kind.kind === 'variants') {
    return (
      <VariantField {...props} Field={Field} variants={kind.variants} head={head} notes={notes} />
    );
  }
  return (
    <div class="field">
      <div class="label-row">
        <label for={id}>{head}</label>
        {extra}
      </div>
      {kind.kind === 'choice' && <ChoiceInput {...control} values={kind.values} />}
      {kind.kind === 'text' && <TextInput {...control} />}
      {kind.kind === 'number' && <NumberInput {...control} />}
      {kind.kind === 'switch' && <SwitchInput {...control} />}
      {kind.kind === 'null' && <output id={id}>null</output>}
      {kind.kind === 'json' && <JsonInput {...control} />}
      {notes}
    </div>
  );
}

interface MembersProps {
  readonly path: string;
  readonly placed: Placed;
  readonly value: Draft;
  readonly onChange: (value: Draft) => void;
}

/** The members of an object. Those that may be left out are, until somebody adds them. */
export function Members({ path, placed, value, onChange }: MembersProps) {
  const { schema, root } = resolve(placed);
  const kind = kindOf(schema);
  if (kind.kind !== 'object') return null;
  const given = (typeof value === 'object' && value !== null ? value : {}) as Record<string, Draft>;
  const isShown = (name: string): boolean => kind.required.has(name) || Object.hasOwn(given, name);
  const change = (name: string, member: Draft): void => onChange({ ...given, [name]: member });
  const remove = (name: string): void => {
    const { [name]: _removed, ...others } = given;
    onChange(others);
  };
  const placedOf = (member: JsonSchema): Placed => ({ schema: member, root });
  const left = kind.members.filter(([name]) => !isShown(name));
  return (
    <>
      {kind.members
        .filter(([name]) => isShown(name))
        .map(([name, member]) => (
          <Field
            key={name}
            label={name}
            path={`${path}/${toPointerPart(name)}`}
            placed={placedOf(member)}
            value={given[name]}
            isRequired={kind.required.has(name)}
            onChange={(next) => change(name, next)}
            extra={
              kind.required.has(name) ? undefined : (
                <button type="button" class="quiet" onClick={() => remove(name)}>
                  Leave out<span class="unseen"> {name}</span>
                </button>
              )
            }
          />
        ))}
      {left.length > 0 && (
        <div class="left-out">
          <span class="hint">Optional:</span>
          {left.map(([name, member]) => (
            <button
              key={name}
              type="button"
              class="chip"
              onClick={() => change(name, emptyDraft(placedOf(member)))}
            >
              + {name}
            </button>
          ))}
        </div>
      )}
    </>
  );
}

function hintOf(schema: JsonSchema): string | undefined {
  const words = [
    typeof schema.description === 'string' ? schema.description : undefined,
    bounds(
      schema.minimum ?? schema.exclusiveMinimum,
      schema.maximum ?? schema.exclusiveMaximum,
      '',
    ),
    schema.minLength === 1 && schema.maxLength === undefined
      ? 'not empty'
      : bounds(schema.minLength, schema.maxLength, 'characters'),
    schema.minItems === 1 && schema.maxItems === undefined
      ? 'at least one item'
      : bounds(schema.minItems, schema.maxItems, 'items'),
    typeof schema.pattern === 'string' ? `matches ${schema.pattern}` : undefined,
    'default' in schema ? `default ${JSON.stringify(schema.default)}` : undefined,
  ].filter((word) => word !== undefined);
  return words.length === 0 ? undefined : words.join(' · ');
}

function bounds(from: unknown, to: unknown, unit: string): string | undefined {
  const text =
    from !== undefined && to !== undefined
      ? `${JSON.stringify(from)} to ${JSON.stringify(to)}`
      : from !== undefined
        ? `at least ${JSON.stringify(from)}`
        : to !== undefined
          ? `at most ${JSON.stringify(to)}`
          : undefined;
  return text && `${text} ${unit}`.trim();
}

function typeWords(schema: JsonSchema, kind: string): string {
  if (typeof schema.format === 'string') return schema.format;
  if (kind === 'choice') return 'one of';
  if (kind === 'variants') return 'one of several';
  return typeof schema.type === 'string' ? schema.type : 'JSON';
}
