import { useEffect, useMemo, useState } from 'preact/hooks';
import { fieldId } from '../form/contract.ts';
import { compactJson, prettyJson } from '../json/raw.ts';
import { repliesIn } from '../json/replies.ts';
import { AnswerView } from '../parts/answer-view.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { emptyDraft, fitsForm, textOfDraft, unparsedIn } from '../schema/draft.ts';
import { paramsSchema } from '../schema/params.ts';
import { type Faults, faultsOf, validate } from '../schema/validate.ts';
import { addToBatch } from '../state/batch.ts';
import { draftOf, keepDraft, type ProcedureDraft } from '../state/drafts.ts';
import { exchanges } from '../state/exchanges.ts';
import { procedures, registry } from '../state/registry.ts';
import { requestText, send } from '../state/send.ts';
import { openStream } from '../state/stream.ts';
import { ParamsForm } from './params-form.tsx';
import { ProcedureHead } from './procedure-head.tsx';
import { Snippets } from './snippets.tsx';

const invalidParams = -32602;
const nothingWrong: Faults = new Map();

export function ProcedureView({ name }: { readonly name: string }) {
  const procedure = procedures.value.find((one) => one.name === name);
  if (procedure !== undefined) return <Known procedure={procedure} />;
  if (registry.value.state === 'loading') return <p class="hint">Loading…</p>;
  return (
    <div class="welcome">
      <h1>
        <code>{name}</code> is not served
      </h1>
      <p>The service may have been reloaded without it.</p>
      <a href="#/">All procedures</a>
    </div>
  );
}

function Known({ procedure }: { readonly procedure: (typeof procedures.value)[number] }) {
  const { name } = procedure;
  const schema = useMemo(() => paramsSchema(procedure), [procedure]);
  const [own, setOwn] = useState<ProcedureDraft>(
    () =>
      draftOf(name) ?? {
        mode: 'form',
        draft: emptyDraft({ schema, root: schema }),
        json: '',
        version: 0,
      },
  );
  const [faults, setFaults] = useState(nothingWrong);
  const [asked, ask] = useState<'call' | 'notify'>();
  const [number, setNumber] = useState<number>();
  const exchange = exchanges.value.find((one) => one.number === number);
  const change = (part: Partial<ProcedureDraft>): void => {
    const next = { ...own, ...part };
    keepDraft(name, next);
    setOwn(next);
  };
  const isStream = procedure.stream !== undefined;
  // A reload may bring a schema that does not name what was filled in: it must not be sent unseen.
  useEffect(() => {
    if (own.mode !== 'form' || fitsForm({ schema, root: schema }, own.draft)) return;
    if (unparsedIn(own.draft).length > 0) return;
    change({ mode: 'json', json: prettyJson(textOfDraft(own.draft)) });
  }, [schema]);

  /** The params as JSON text; undefined: something is wrong with them, and the first of it is focused. */
  const checked = (): string | undefined => {
    const found = own.mode === 'form' ? formFaults() : jsonFaults();
    setFaults(found);
    if (found.size === 0) return own.mode === 'form' ? formText() : own.json.trim();
    focusFirst(found);
    return undefined;
  };
  const formText = (): string => {
    const text = textOfDraft(own.draft);
    return text === '{}' && procedure.parameters.length === 0 ? '' : text;
  };
  const formFaults = (): Faults => {
    const unparsed = unparsedIn(own.draft);
    if (unparsed.length > 0) return new Map(unparsed);
    return validate(schema, JSON.parse(textOfDraft(own.draft) || '{}'));
  };
  const jsonFaults = (): Faults => {
    if (own.json.trim() === '') return validate(schema, {});
    try {
      const value = JSON.parse(own.json) as unknown;
      // Params by position are for the server to check.
      return Array.isArray(value) ? nothingWrong : validate(schema, value);
    } catch (error) {
      return new Map([['', error instanceof Error ? error.message : 'must be JSON']]);
    }
  };

  const run = (kind: 'call' | 'notify'): void => {
    ask(undefined);
    const params = checked();
    if (params === undefined) return;
    if (kind === 'call' && isStream) {
      exchange?.stop?.();
      setNumber(openStream(name, params));
      return;
    }
    const isCall = kind === 'call';
    const body = requestText(name, params, isCall ? 1 : undefined);
    const sent = isCall ? 'call' : 'notification';
    setNumber(send({ title: name, kind: sent, method: name, body }));
  };
  const begin = (kind: 'call' | 'notify'): void => {
    if (checked() === undefined) return;
    if (procedure.effects?.destructive === true) ask(kind);
    else run(kind);
  };
  const collect = (): void => {
    const params = checked();
    if (params !== undefined) addToBatch(name, params);
  };

  // What the server refuses is shown at its field.
  const refusal = exchange?.answer?.text;
  useEffect(() => {
    const error = refusal === undefined ? undefined : repliesIn(refusal)?.[0]?.error;
    if (error?.code !== invalidParams) return;
    const found = faultsOf(error.data === undefined ? undefined : JSON.parse(error.data));
    setFaults(found);
    focusFirst(found);
  }, [refusal]);

  return (
    <article
      class="procedure"
      aria-labelledby="procedure-title"
      onKeyDown={(event) => {
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        begin('call');
      }}
    >
      <ProcedureHead procedure={procedure} />
      <ParamsForm
        key={own.version}
        procedure={procedure}
        schema={schema}
        own={own}
        faults={faults}
        onChange={change}
        canShowForm={(value) => fitsForm({ schema, root: schema }, value)}
      />
      <div class="actions">
        <button
          type="button"
          class="primary"
          aria-keyshortcuts="Control+Enter"
          onClick={() => begin('call')}
        >
          {isStream ? 'Open the stream' : 'Call'}{' '}
          <span class="key" aria-hidden="true">
            Ctrl ⏎
          </span>
        </button>
        {!isStream && (
          <>
            <button type="button" onClick={() => begin('notify')}>
              Notify
            </button>
            <button type="button" onClick={collect}>
              Add to batch
            </button>
          </>
        )}
      </div>
      {asked !== undefined && (
        <Confirm
          title={`Call ${name}?`}
          text="It is declared destructive: what it does may not be undone."
          action="Call it"
          onAnswer={(isYes) => (isYes ? run(asked) : ask(undefined))}
        />
      )}
      {exchange !== undefined && <AnswerView exchange={exchange} />}
      <Snippets
        method={name}
        params={() => (own.mode === 'form' ? safely(formText) : safely(() => textOf(own.json)))}
        isStream={isStream}
      />
    </article>
  );
}

/** @throws SyntaxError for text that is no JSON */
function textOf(json: string): string {
  if (json.trim() === '') return '';
  JSON.parse(json);
  return compactJson(json);
}

/** Text that is no JSON yet has no place in a snippet. */
function safely(make: () => string): string {
  try {
    return make();
  } catch {
    return '';
  }
}

/** Moves to the first field that something is wrong with. */
function focusFirst(faults: Faults): void {
  const fields = [...faults.keys()].flatMap((path) => {
    const field =
      document.getElementById(fieldId(path)) ?? document.getElementById(`${fieldId(path)}-form`);
    return field === null ? [] : [field];
  });
  fields.sort((a, b) => (a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1));
  fields[0]?.focus();
}
