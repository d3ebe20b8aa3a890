import type { ThrottleCause, ThrottledCaller } from '../../src/core/observe/throttled-callers.ts';
import { Scroll } from '../parts/data-table.tsx';
import { timeText } from '../parts/figures-text.ts';
import { NumberHeads } from '../parts/number-heads.tsx';
import type { Figures } from './figures.ts';

/** What a key is, by its first letter: see src/core/dispatch/caller-key.ts. */
const kinds: Readonly<Record<string, string>> = {
  a: 'address',
  s: 'auth',
  n: 'auth',
  h: 'header',
  f: 'fairBy',
  '#': 'hash of a key',
};

const causes: readonly (readonly [ThrottleCause, string])[] = [
  ['rate', 'its rate'],
  ['inFlight', 'its own in flight'],
  ['queue', 'full queue'],
  ['full', 'full service'],
];

/** Who was refused with -32000 of late, and which limit it was. */
export function CallerTable({ callers: given }: Pick<Figures, 'callers'>) {
  const callers = given.toSorted((a, b) => sumOf(b) - sumOf(a));
  return (
    <section aria-labelledby="callers-title">
      <h2 id="callers-title">Throttled callers</h2>
      {callers.length === 0 ? (
        <p class="hint">In the last five minutes no call was refused because of too many.</p>
      ) : (
        <Scroll label="Throttled callers">
          <table class="figures">
            <thead>
              <tr>
                <th scope="col">caller</th>
                <NumberHeads
                  names={['refused', ...causes.map(([, words]) => words), 'since', 'last']}
                />
              </tr>
            </thead>
            <tbody>
              {callers.map((caller) => (
                <Row key={caller.key} caller={caller} />
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </section>
  );
}

function Row({ caller }: { readonly caller: ThrottledCaller }) {
  const { key, refused, since, last } = caller;
  const name = key.slice(1);
  return (
    <tr>
      <th scope="row">
        <code class="caller">{name === '' ? 'unknown' : name}</code>
        <span class="tag">{kinds[key[0] ?? ''] ?? 'key'}</span>
      </th>
      <td class="number has-errors">{sumOf(caller).toLocaleString('en')}</td>
      {causes.map(([cause]) => (
        <td key={cause} class="number">
          {refused[cause] === 0 ? '–' : refused[cause].toLocaleString('en')}
        </td>
      ))}
      <td class="number">{timeText(new Date(since))}</td>
      <td class="number">{timeText(new Date(last))}</td>
    </tr>
  );
}

function sumOf({ refused }: ThrottledCaller): number {
  return Object.values(refused).reduce((sum, count) => sum + count, 0);
}
