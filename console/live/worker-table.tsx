import { Scroll } from '../parts/data-table.tsx';
import { msText } from '../parts/figures-text.ts';
import { NumberHeads } from '../parts/number-heads.tsx';
import type { Figures } from './figures.ts';

/** The worker threads, and whose code each one is in. */
export function WorkerTable({ workers: given }: Pick<Figures, 'workers'>) {
  const workers = given.toSorted(
    (a, b) => a.process.localeCompare(b.process) || a.threadId - b.threadId,
  );
  const hasGroups = workers.some(({ group }) => group !== null);
  const hasProcesses = new Set(workers.map(({ process }) => process)).size > 1;
  return (
    <section aria-labelledby="workers-title">
      <h2 id="workers-title">Workers</h2>
      {workers.length === 0 ? (
        <p class="hint">There are none: every call runs in the front end.</p>
      ) : (
        <Scroll label="Workers">
          <table class="figures">
            <thead>
              <tr>
                {hasProcesses && <th scope="col">process</th>}
                <th scope="col">thread</th>
                {hasGroups && <th scope="col">group</th>}
                <th scope="col">runs now</th>
                <NumberHeads names={['for', 'holds', 'streams', 'ended']} />
              </tr>
            </thead>
            <tbody>
              {workers.map((worker) => (
                <tr key={`${worker.process} ${worker.threadId}`}>
                  {hasProcesses && <td>{worker.process}</td>}
                  <th scope="row">
                    {worker.threadId}
                    {worker.isLane && <span class="tag">lane</span>}
                  </th>
                  {hasGroups && <td>{worker.group ?? '–'}</td>}
                  <td>
                    {worker.running === null ? (
                      <span class="idle">{worker.inFlight > 0 ? 'waits' : 'idle'}</span>
                    ) : (
                      <code class="busy">{worker.running.procedure}</code>
                    )}
                  </td>
                  <td class="number">{worker.running === null ? '' : msText(worker.running.ms)}</td>
                  <td class="number">{worker.inFlight.toLocaleString('en')}</td>
                  <td class="number">{worker.streams.toLocaleString('en')}</td>
                  <td class="number">{worker.completed.toLocaleString('en')}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </section>
  );
}
