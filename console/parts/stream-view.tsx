import type { Exchange } from '../state/exchanges.ts';
import { msText, numberText } from './figures-text.ts';

/** The values of a stream, the newest first. */
export function StreamView({ exchange }: { readonly exchange: Exchange }) {
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
              <span class="value-number">{number}</span>
              <code>{text}</code>
              <span class="value-time">{msText(ms)}</span>
            </li>
          ))}
        </ol>
      )}
    </>
  );
}
