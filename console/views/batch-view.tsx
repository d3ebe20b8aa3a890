import { AnswerView } from '../parts/answer-view.tsx';
import { useConfirm } from '../parts/confirm.tsx';
import {
  type BatchEntry,
  batch,
  batchText,
  moveInBatch,
  removeFromBatch,
  toggleNotification,
} from '../state/batch.ts';
import { useExchange } from '../state/exchanges.ts';
import { procedures } from '../state/registry.ts';
import { send } from '../state/send.ts';

/** Calls that travel together, and run one after another. */
export function BatchView() {
  const [exchange, setNumber] = useExchange();
  const [ask, question] = useConfirm();
  const entries = batch.value;
  const dangerous = entries.filter(({ method }) =>
    procedures.value.some((one) => one.name === method && one.effects?.destructive === true),
  );
  const run = (): void => {
    const title = `batch of ${entries.length}`;
    setNumber(send({ title, kind: 'batch', method: undefined, body: batchText(entries) }));
  };
  const begin = (): void => {
    const names = dangerous.map(({ method }) => method).join(', ');
    const text = `Declared destructive: ${names}. What they do may not be undone.`;
    if (names === '') run();
    else ask({ title: 'Send the batch?', text, action: 'Send it', onYes: run });
  };
  return (
    <section aria-labelledby="batch-title">
      <h1 id="batch-title">Batch</h1>
      {entries.length === 0 ? (
        <p>
          No calls yet: <em>Add to batch</em> stands beside <em>Call</em>. They run one after
          another, and are answered in this order.
        </p>
      ) : (
        <ol class="card rows batch">
          {entries.map((entry, index) => (
            <Entry key={entry.key} entry={entry} index={index} count={entries.length} />
          ))}
        </ol>
      )}
      {entries.length > 0 && (
        <div class="row actions">
          <button type="button" class="primary" onClick={begin}>
            Send {entries.length === 1 ? 'the call' : `${entries.length} calls`}
          </button>
          <button
            type="button"
            onClick={() => {
              batch.value = [];
            }}
          >
            Remove all
          </button>
        </div>
      )}
      {question}
      {exchange !== undefined && <AnswerView exchange={exchange} />}
    </section>
  );
}

interface EntryProps {
  readonly entry: BatchEntry;
  readonly index: number;
  readonly count: number;
}

function Entry({ entry, index, count }: EntryProps) {
  const { key, method, params, isNotification } = entry;
  const move = (by: -1 | 1, arrow: string, where: string, isAtEnd: boolean) => (
    <button type="button" class="quiet" disabled={isAtEnd} onClick={() => moveInBatch(key, by)}>
      <span aria-hidden="true">{arrow}</span>
      <span class="unseen">
        Move {method} {where}
      </span>
    </button>
  );
  return (
    <li>
      <div class="entry-text">
        <code class="entry-name">{method}</code>
        <code class="hint">{params === '' ? 'no params' : params}</code>
      </div>
      <label class="inline">
        <input type="checkbox" checked={isNotification} onChange={() => toggleNotification(key)} />
        notification
      </label>
      <div class="tools">
        {move(-1, '↑', 'up', index === 0)}
        {move(1, '↓', 'down', index === count - 1)}
        <button type="button" class="quiet" onClick={() => removeFromBatch(key)}>
          Remove<span class="unseen"> {method}</span>
        </button>
      </div>
    </li>
  );
}
