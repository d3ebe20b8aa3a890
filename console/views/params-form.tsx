import { FaultsOfForm } from '../form/contract.ts';
import { Members } from '../form/field.tsx';
import { lazyPart } from '../parts/lazy-part.tsx';
import { textOfDraft } from '../schema/draft.ts';
import type { JsonSchema } from '../schema/resolve.ts';
import type { Faults } from '../schema/validate.ts';
import type { ProcedureDraft } from '../state/drafts.ts';
import type { ProcedureSchema } from '../state/registry.ts';

const JsonEditor = lazyPart(async () => (await import('../editor/json-editor.tsx')).JsonEditor);

interface ParamsProps {
  readonly procedure: ProcedureSchema;
  readonly schema: JsonSchema;
  readonly own: ProcedureDraft;
  readonly faults: Faults;
  readonly onChange: (part: Partial<ProcedureDraft>) => void;
  /** Whether the form can hold all of a value. */
  readonly canShowForm: (value: unknown) => boolean;
}

/** The params: as a form, or as JSON. What was filled in goes along from one to the other. */
export function ParamsForm(props: ParamsProps) {
  const { procedure, schema, own, faults, onChange, canShowForm } = props;
  const fromJson = parse(own.json);
  const mayShowForm =
    own.mode === 'form' ||
    own.json.trim() === '' ||
    (fromJson !== undefined && canShowForm(fromJson.value));
  const toJson = (): void => {
    try {
      onChange({ mode: 'json', json: textOfDraft(own.draft, 2) });
    } catch {
      onChange({ mode: 'json' });
    }
  };
  const toForm = (): void => {
    if (!mayShowForm) return;
    onChange({ mode: 'form', draft: fromJson?.value ?? {}, version: own.version + 1 });
  };
  const whole = faults.get('');
  return (
    <section class="params" aria-label="Params">
      <div class="params-head">
        <h2>Params</h2>
        <div class="switch" role="group" aria-label="How to write the params">
          <button
            type="button"
            aria-pressed={own.mode === 'form'}
            onClick={toForm}
            disabled={!mayShowForm}
          >
            Form
          </button>
          <button type="button" aria-pressed={own.mode === 'json'} onClick={toJson}>
            JSON
          </button>
        </div>
      </div>
      {own.mode === 'form' ? (
        procedure.parameters.length === 0 ? (
          <p class="hint">It declares no params. Where it takes any object, write JSON.</p>
        ) : (
          <FaultsOfForm.Provider value={faults}>
            <Members
              path=""
              placed={{ schema, root: schema }}
              value={own.draft}
              onChange={(draft) => onChange({ draft })}
            />
          </FaultsOfForm.Provider>
        )
      ) : (
        <>
          <JsonEditor value={own.json} schema={schema} onChange={(json) => onChange({ json })} />
          {[...faults].map(([path, fault]) => (
            <p key={path} class="fault">
              {path === '' ? '' : <code>{path}</code>} {fault}
            </p>
          ))}
          {!mayShowForm && (
            <p class="hint">
              A form can’t hold this: it has members that the schema does not name.
            </p>
          )}
        </>
      )}
      {own.mode === 'form' && whole !== undefined && <p class="fault">{whole}</p>}
    </section>
  );
}

function parse(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}
