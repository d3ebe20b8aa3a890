import { useMemo } from 'preact/hooks';
import { compactJson, itemsOf, membersOf } from '../json/raw.ts';
import { methodsIn, type Reply, repliesIn } from '../json/replies.ts';
import type { Answer, Exchange } from '../state/exchanges.ts';
import { CopyButton } from './copy-button.tsx';
import { bytesText, msText, numberText } from './figures-text.ts';
import { JsonView } from './json-view.tsx';
import { Pairs, Table } from './table.tsx';

/** What a request came to. */
export function AnswerView({ exchange }: { readonly exchange: Exchange }) {
  const { answer, state, failure, stop, kind, values } = exchange;
  return (
    <section class="card answer" aria-label="Answer" data-state={state}>
      <div class="row head">
        <h2>{kind === 'stream' ? 'Stream' : 'Answer'}</h2>
        <p class="hint row facts" aria-live="polite">
          {state === 'running' && <span class="busy">running…</span>}
          {state === 'stopped' && <span class="badge">stopped</span>}
          {answer !== undefined && <Facts answer={answer} />}
        </p>
        {stop !== undefined && (
          <button type="button" class="end" onClick={stop}>
            Stop
          </button>
        )}
      </div>
      {failure !== undefined && (
        <p class="fault" role="alert">
          {kind === 'stream' && values.length > 0 ? failure : `No answer: ${failure}`}
        </p>
      )}
      {kind === 'stream' && <StreamView exchange={exchange} />}
      {answer !== undefined && answer.text !== '' && <Body answer={answer} sent={exchange.body} />}
      {kind === 'notification' && answer?.text === '' && (answer.status ?? 0) < 300 && (
        <p class="hint">There is no reply to a notification. 204 says that it has ended.</p>
      )}
      {answer !== undefined && (
        <details>
          <summary>Headers ({answer.headers.length})</summary>
          <Pairs pairs={answer.headers} />
        </details>
      )}
    </section>
  );
}

function Facts({ answer }: { readonly answer: Answer }) {
  const { status = 0, statusText, ms, bytes, text } = answer;
  // By HTTP an error is a 200 like any other reply: green would say too much.
  const hasError = useMemo(
    () => repliesIn(text)?.some(({ error }) => error !== undefined) === true,
    [text],
  );
  const mood = status >= 400 ? 'bad' : hasError ? '' : 'good';
  return (
    <>
      <span class={`badge ${mood}`}>
        {status} {statusText}
      </span>
      <span>{msText(ms)}</span>
      {text !== '' && <span>{bytesText(bytes)}</span>}
    </>
  );
}

interface BodyProps {
  readonly answer: Answer;
  /** The body that was sent. */
  readonly sent: string;
}

function Body({ answer, sent }: BodyProps) {
  const methods = useMemo(() => methodsIn(sent), [sent]);
  const replies = useMemo(() => repliesIn(answer.text), [answer.text]);
  if (replies === undefined) {
    return <pre class="json">{answer.text}</pre>;
  }
  return (
    <>
      {replies.map((reply, index) => (
        <ReplyView key={index} reply={reply} method={methods.get(reply.id)} />
      ))}
      <details>
        <summary>As it came</summary>
        <div class="with-copy">
          <JsonView text={answer.text} label="The answer as it came" />
          <CopyButton text={() => answer.text} what="the answer" />
        </div>
      </details>
    </>
  );
}

interface ReplyProps {
  readonly reply: Reply;
  /** Of a batch; undefined: it is no batch, or nobody knows which call it answers. */
  readonly method: string | undefined;
}

function ReplyView({ reply, method }: ReplyProps) {
  const { id, result, error } = reply;
  return (
    <div class="reply">
      {method !== undefined && (
        <h3>
          <code>{method}</code> · id {id}
        </h3>
      )}
      {error === undefined ? (
        <div class="with-copy">
          <JsonView text={result} label="Result" />
          <CopyButton text={() => result} what="the result" />
        </div>
      ) : (
        <div class="error">
          <p>
            <span class="badge bad">{error.code}</span> <strong>{error.message}</strong>
          </p>
          {error.data !== undefined && <DataTable data={error.data} label="Data of the error" />}
        </div>
      )}
    </div>
  );
}

/** The values of a stream, the newest first. */
function StreamView({ exchange }: { readonly exchange: Exchange }) {
  const { values, state } = exchange;
  const last = values.at(-1);
  const rate = last === undefined || last.ms === 0 ? 0 : (last.number / last.ms) * 1000;
  return (
    <>
      <p class="hint">
        {last === undefined
          ? 'no value yet'
          : `${last.number.toLocaleString('en')} ${last.number === 1 ? 'value' : 'values'}, ${numberText(rate)} a second`}
        {last !== undefined && last.number > values.length
          ? `; the last ${values.length} are shown`
          : ''}
        {state === 'done' ? '; the stream has ended' : ''}
      </p>
      {values.length > 0 && (
        <ol
          class="box rows values"
          reversed
          tabIndex={0}
          aria-label="Values of the stream, the newest first"
        >
          {values.toReversed().map(({ number, ms, text }) => (
            <li key={number}>
              <span class="hint number">{number}</span>
              <code>{text}</code>
              <span class="hint">{msText(ms)}</span>
            </li>
          ))}
        </ol>
      )}
    </>
  );
}

/** A value in a cell: a string as itself, anything else as JSON. */
function cell(text: string | undefined): string {
  if (text === undefined) return '';
  return text.startsWith('"') ? (JSON.parse(text) as string) : compactJson(text);
}

/**
 * The data of an error: a list of objects as rows, an object as pairs, anything else as JSON.
 *
 * @param data JSON text
 */
function DataTable({ data, label }: { readonly data: string; readonly label: string }) {
  const rows = itemsOf(data)?.map(membersOf) ?? [];
  if (rows.length > 0 && rows.every((row) => row !== undefined)) {
    const columns = [...new Set(rows.flatMap((row) => [...row.keys()]))];
    return (
      <Table
        label={label}
        rows={rows}
        keyOf={(_, index) => index}
        columns={columns.map((head) => ({
          head,
          cell: (row: ReadonlyMap<string, string>) => <code>{cell(row.get(head))}</code>,
        }))}
      />
    );
  }
  const pairs = membersOf(data);
  if (pairs === undefined || pairs.size === 0) return <JsonView text={data} label={label} />;
  return (
    <div class="box" role="group" aria-label={label} tabIndex={0}>
      <Pairs pairs={Array.from(pairs, ([name, value]) => [name, cell(value)] as const)} />
    </div>
  );
}
