import { useEffect, useMemo, useState } from 'preact/hooks';
import { compactJson } from '../json/raw.ts';
import { faultsIn } from '../json/replies.ts';
import { AnswerView } from '../parts/answer-view.tsx';
import { destructive, useConfirm } from '../parts/confirm.tsx';
import { lazyPart } from '../parts/lazy-part.tsx';
import { addToBatch } from '../state/batch.ts';
import { drafts, exampleFor } from '../state/drafts.ts';
import { useExchange } from '../state/exchanges.ts';
import { procedures, registry } from '../state/registry.ts';
import { requestText, send } from '../state/send.ts';
import { ProcedureHead } from './procedure-head.tsx';
import { Snippets } from './snippets.tsx';

/** The editor is most of the page. */
const JsonEditor = lazyPart(async () => (await import('../editor/json-editor.tsx')).JsonEditor);

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

type Kind = 'call' | 'stream' | 'notification';

function Known({ procedure }: { readonly procedure: (typeof procedures.value)[number] }) {
  const { name } = procedure;
  const [text, setText] = useState(drafts.get(name));
  const [mistake, setMistake] = useState<string>();
  const [ask, question] = useConfirm();
  const [exchange, setNumber] = useExchange();
  const refusal = exchange?.answer?.text ?? '';
  const faults = useMemo(() => faultsIn(refusal), [refusal]);
  const isStream = procedure.stream !== undefined;
  const usual = isStream ? 'stream' : 'call';
  useEffect(() => {
    if (text === undefined) void exampleFor(procedure).then(setText);
  }, []);
  const change = (next: string): void => {
    drafts.set(name, next);
    setText(next);
  };

  /** The params as JSON text; undefined: there are none yet, or they are no JSON and the page says so. */
  const checked = (): string | undefined => {
    if (text === undefined) return undefined;
    const params = text.trim();
    try {
      if (params !== '') JSON.parse(params);
      setMistake(undefined);
      return params;
    } catch (error) {
      setMistake(error instanceof Error ? error.message : 'must be JSON');
      return undefined;
    }
  };
  const run = (kind: Kind, params: string): void => {
    if (kind === 'stream') exchange?.stop?.();
    const body = requestText(name, params, kind === 'notification' ? undefined : 1);
    setNumber(send({ title: name, kind, method: name, body }));
  };
  const begin = (kind: Kind): void => {
    const params = checked();
    if (params === undefined) return;
    const onYes = (): void => run(kind, params);
    if (procedure.effects?.destructive !== true) onYes();
    else ask({ title: `Call ${name}?`, text: destructive, action: 'Call it', onYes });
  };
  const collect = (): void => {
    const params = checked();
    if (params !== undefined) addToBatch(name, params);
  };

  return (
    <article
      aria-labelledby="procedure-title"
      onKeyDown={(event) => {
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        begin(usual);
      }}
    >
      <ProcedureHead procedure={procedure} />
      <section aria-label="Params">
        <div class="row head">
          <h2>Params</h2>
          {procedure.parameters.length === 0 && <p class="hint">It declares none.</p>}
        </div>
        {text === undefined ? (
          <p class="hint">Loading…</p>
        ) : (
          <JsonEditor procedure={procedure} value={text} faults={faults} onChange={change} />
        )}
        {mistake !== undefined && (
          <p class="fault" role="alert">
            {mistake}
          </p>
        )}
      </section>
      <div class="row actions">
        <button
          type="button"
          class="primary"
          aria-keyshortcuts="Control+Enter"
          disabled={text === undefined}
          onClick={() => begin(usual)}
        >
          {isStream ? 'Open the stream' : 'Call'}{' '}
          <span aria-hidden="true">
            <kbd>Ctrl ⏎</kbd>
          </span>
        </button>
        {!isStream && (
          <>
            <button
              type="button"
              disabled={text === undefined}
              onClick={() => begin('notification')}
            >
              Notify
            </button>
            <button type="button" disabled={text === undefined} onClick={collect}>
              Add to batch
            </button>
          </>
        )}
      </div>
      {question}
      {exchange !== undefined && <AnswerView exchange={exchange} />}
      <Snippets method={name} params={compactParams(text ?? '')} isStream={isStream} />
    </article>
  );
}

/** Text that is no JSON yet has no place in a snippet. */
function compactParams(text: string): string {
  try {
    if (text.trim() !== '') JSON.parse(text);
    return compactJson(text);
  } catch {
    return '';
  }
}
