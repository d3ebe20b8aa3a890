import { useState } from 'preact/hooks';
import { AnswerView } from '../parts/answer-view.tsx';
import { useExchange } from '../state/exchanges.ts';
import { send } from '../state/send.ts';

const first = '{"jsonrpc":"2.0","id":1,"method":"","params":{}}';

/** For a service that does not describe its procedures: a box for whole requests. */
export function RawView() {
  const [body, setBody] = useState(first);
  const [exchange, setNumber] = useExchange();
  const call = (): void =>
    setNumber(send({ title: 'request', kind: 'raw', method: undefined, body }));
  return (
    <section class="raw" aria-labelledby="raw-title">
      <h1 id="raw-title">A request</h1>
      <p>
        This service does not describe its procedures (<code>introspection</code> is off). What you
        write here is sent to the letter.
      </p>
      <textarea
        rows={8}
        aria-label="Request as JSON"
        spellcheck={false}
        value={body}
        onInput={(event) => setBody(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) call();
        }}
      />
      <div class="row actions">
        <button type="button" class="primary" onClick={call}>
          Send
        </button>
      </div>
      {exchange !== undefined && <AnswerView exchange={exchange} />}
    </section>
  );
}
