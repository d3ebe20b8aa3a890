import { membersOf, prettyJson } from '../json/raw.ts';
import { repliesIn } from '../json/replies.ts';
import { AnswerView } from '../parts/answer-view.tsx';
import { destructive, useConfirm } from '../parts/confirm.tsx';
import { msText, timeText } from '../parts/figures-text.ts';
import { drafts } from '../state/drafts.ts';
import { type Exchange, exchanges } from '../state/exchanges.ts';
import { procedures } from '../state/registry.ts';
import { procedureHash } from '../state/route.ts';
import { send } from '../state/send.ts';

/** The requests of this page, the newest first. */
export function HistoryView() {
  const all = exchanges.value;
  return (
    <section aria-labelledby="history-title">
      <h1 id="history-title">History</h1>
      <p class="hint">
        The last 100 requests of this page. They are kept in its memory, and are gone when it is
        closed.
      </p>
      {all.length === 0 ? (
        <p>Nothing was sent yet.</p>
      ) : (
        <ul class="card rows history">
          {all.map((exchange) => (
            <li key={exchange.number}>
              <Row exchange={exchange} />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Row({ exchange }: { readonly exchange: Exchange }) {
  const { at, title, kind, answer, method, body } = exchange;
  const params = paramsIn(body);
  const outcome = outcomeOf(exchange);
  const [ask, question] = useConfirm();
  const isKnown = procedures.value.some((one) => one.name === method);
  return (
    <details>
      <summary>
        <time class="hint" dateTime={at.toISOString()}>
          {timeText(at)}
        </time>
        <code>{title}</code>
        {kind !== 'call' && <span class="tag">{kind}</span>}
        <span class={`badge end ${outcome.isGood ? 'good' : 'bad'}`}>{outcome.text}</span>
        {answer !== undefined && <span class="hint">{msText(answer.ms)}</span>}
      </summary>
      <pre class="json">{body}</pre>
      <div class="row actions">
        <button
          type="button"
          onClick={() => {
            const again = (): void => void send(exchange);
            const asked = { title: `Send ${title} again?`, text: destructive, action: 'Send it' };
            if (isDestructive(exchange)) ask({ ...asked, onYes: again });
            else again();
          }}
        >
          Send again<span class="unseen"> {title}</span>
        </button>
        {method !== undefined && isKnown && params !== undefined && (
          <a
            class="button"
            href={procedureHash(method)}
            onClick={() => drafts.set(method, prettyJson(params))}
          >
            Edit<span class="unseen"> {title}</span>
          </a>
        )}
      </div>
      {question}
      <AnswerView exchange={exchange} />
    </details>
  );
}

/** Whether it calls a procedure that is declared destructive, alone or in a batch. */
function isDestructive({ body }: Exchange): boolean {
  return procedures.value.some(
    ({ name, effects }) => effects?.destructive === true && body.includes(JSON.stringify(name)),
  );
}

/** The params of a single request as JSON text; empty: none; undefined: the body is no single request. */
function paramsIn(body: string): string | undefined {
  try {
    JSON.parse(body);
  } catch {
    return undefined;
  }
  const request = membersOf(body);
  return request && (request.get('params') ?? '');
}

/** What came of it, in a word. */
function outcomeOf({ state, answer, kind }: Exchange): {
  readonly text: string;
  readonly isGood: boolean;
} {
  const { status = 200, text = '' } = answer ?? {};
  const errors = (repliesIn(text) ?? []).flatMap(({ error }) => error ?? []);
  const isGood = state !== 'failed' && status < 400 && errors.length === 0;
  const said = (): string => {
    if (state === 'running' || state === 'stopped') return state;
    if (answer === undefined) return 'no answer';
    if (status >= 400) return String(status);
    if (kind === 'batch' && errors.length > 0) return `${errors.length} errors`;
    return String(errors[0]?.code ?? 'ok');
  };
  return { text: said(), isGood };
}
