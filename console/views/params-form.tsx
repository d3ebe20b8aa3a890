import { useEffect, useState } from 'preact/hooks';
import { FaultsOfForm, fieldId } from '../form/contract.ts';
import { Members } from '../form/field.tsx';
import { prettyJson } from '../json/raw.ts';
import { lazyPart } from '../parts/lazy-part.tsx';
import { draftOfText, textOfDraft } from '../schema/draft.ts';
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
      onChange({ mode: 'json', json: prettyJson(textOfDraft(own.draft)) });
    } catch {
      onChange({ mode: 'json' });
    }
  };
  const toForm = (): void => {
    if (!mayShowForm) return;
    onChange({ mode: 'form', draft: fromJson?.value ?? {}, version: own.version + 1 });
  };
  const elsewhere = useFaultsElsewhere(faults);
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
            <Fault key={path} path={path} fault={fault} />
          ))}
          {!mayShowForm && (
            <p class="hint">
              A form can’t hold this: it has members that the schema does not name.
            </p>
          )}
        </>
      )}
      {own.mode === 'form' &&
        elsewhere.map(([path, fault]) => <Fault key={path} path={path} fault={fault} />)}
    </section>
  );
}

function Fault({ path, fault }: { readonly path: string; readonly fault: string }) {
  return (
    <p class="fault">
      {path === '' ? '' : <code>{path}</code>} {fault}
    </p>
  );
}

/** What is wrong with something that has no field in the form: a member that the schema does not name, say. */
function useFaultsElsewhere(faults: Faults): readonly (readonly [string, string])[] {
  const [elsewhere, setElsewhere] = useState<readonly (readonly [string, string])[]>([]);
  useEffect(() => {
    const hasField = (path: string): boolean =>
      [fieldId(path), `${fieldId(path)}-form`].some((id) => document.getElementById(id) !== null);
    setElsewhere([...faults].filter(([path]) => path === '' || !hasField(path)));
  }, [faults]);
  return elsewhere;
}

function parse(text: string): { readonly value: unknown } | undefined {
  try {
    JSON.parse(text);
    return { value: draftOfText(text) };
  } catch {
    return undefined;
  }
}
