import { useState } from 'preact/hooks';
import { callsUrl } from '../facts.ts';
import { Scroll } from '../parts/data-table.tsx';
import { msText, numberText, shareText } from '../parts/figures-text.ts';
import { NumberHeads } from '../parts/number-heads.tsx';
import { procedureHash } from '../state/route.ts';
import type { Figures } from './figures.ts';
import type { ProcedureRow } from './samples.ts';

const shownAtFirst = 20;

interface TableProps {
  readonly rows: readonly ProcedureRow[];
  readonly placement: Figures['placement'];
}

/** The procedures, where each runs and why: the busiest first. */
export function ProcedureTable({ rows, placement }: TableProps) {
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? rows : rows.slice(0, shownAtFirst);
  // A column that only a service with handler batches has.
  const hasRuns = rows.some(({ callsPerRun }) => !Number.isNaN(callsPerRun));
  const last = hasRuns ? ['calls/run'] : [];
  return (
    <section aria-labelledby="procedures-title">
      <h2 id="procedures-title">Procedures</h2>
      <Scroll label="Procedures">
        <table class="figures">
          <thead>
            <tr>
              <th scope="col">name</th>
              <th scope="col">runs</th>
              <th scope="col">because</th>
              <NumberHeads names={['calls/s', 'busy', 'calls', 'errors', 'p50', 'p99', ...last]} />
            </tr>
          </thead>
          <tbody>
            {shown.map((row) => (
              <Row key={row.name} row={row} placed={placement[row.name]} hasRuns={hasRuns} />
            ))}
          </tbody>
        </table>
      </Scroll>
      {rows.length > shown.length && (
        <button type="button" class="quiet" onClick={() => setWhole(true)}>
          Show all {rows.length}
        </button>
      )}
    </section>
  );
}

interface RowProps {
  readonly row: ProcedureRow;
  readonly hasRuns: boolean;
  readonly placed: { readonly place: string; readonly reason: string } | undefined;
}

function Row({ row, placed, hasRuns }: RowProps) {
  const { name, callsPerSecond, busy, calls, errors, p50, p99, callsPerRun } = row;
  return (
    <tr>
      <th scope="row">
        {placed === undefined || callsUrl === undefined ? (
          <code>{name}</code>
        ) : (
          <a href={procedureHash(name)}>
            <code>{name}</code>
          </a>
        )}
      </th>
      <td>{placed === undefined ? '–' : <span class="tag">{placed.place}</span>}</td>
      <td class="reason">{placed?.reason}</td>
      <td class="number">{numberText(callsPerSecond)}</td>
      <td class="number">{shareText(busy)}</td>
      <td class="number">{calls.toLocaleString('en')}</td>
      <td class={errors > 0 ? 'number has-errors' : 'number'}>{errors.toLocaleString('en')}</td>
      <td class="number">{Number.isNaN(p50) ? '–' : msText(p50)}</td>
      <td class="number">{Number.isNaN(p99) ? '–' : msText(p99)}</td>
      {hasRuns && (
        <td class="number">{Number.isNaN(callsPerRun) ? '–' : callsPerRun.toFixed(1)}</td>
      )}
    </tr>
  );
}
