import { Scroll } from '../parts/data-table.tsx';
import { bytesText, msText, shareText } from '../parts/figures-text.ts';
import { NumberHeads } from '../parts/number-heads.tsx';
import { type Figures, threadKey } from './figures.ts';
import type { Samples } from './samples.ts';

function optional(value: number | undefined, text: (value: number) => string): string {
  return value === undefined ? '–' : text(value);
}

/** The worker threads, whose code each one is in, and what it takes of the machine. */
export function WorkerTable({
  workers: given,
  cpu,
}: Pick<Figures, 'workers'> & Pick<Samples, 'cpu'>) {
  const workers = given.toSorted(
    (a, b) =>
      a.process.localeCompare(b.process) ||
      (a.group ?? '').localeCompare(b.group ?? '') ||
      a.worker - b.worker,
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
                {hasGroups && <th scope="col">group</th>}
                <th scope="col">worker</th>
                <th scope="col">thread</th>
                <th scope="col">runs now</th>
                <NumberHeads names={['for', 'CPU', 'memory', 'holds', 'streams', 'ended']} />
              </tr>
            </thead>
            <tbody>
              {workers.map((worker) => (
                <tr key={threadKey(worker)}>
                  {hasProcesses && <td>{worker.process}</td>}
                  {hasGroups && <td>{worker.group ?? '–'}</td>}
                  <th scope="row">
                    {worker.worker}
                    {worker.isLane && <span class="tag">lane</span>}
                  </th>
                  <td>{worker.threadId}</td>
                  <td>
                    {worker.running === null ? (
                      <span class="idle">{worker.inFlight > 0 ? 'waits' : 'idle'}</span>
                    ) : (
                      <code class="busy">{worker.running.procedure}</code>
                    )}
                  </td>
                  <td class="number">{worker.running === null ? '' : msText(worker.running.ms)}</td>
                  <td class="number">{optional(cpu.get(threadKey(worker)), shareText)}</td>
                  <td class="number">{optional(worker.heapBytes ?? undefined, bytesText)}</td>
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
