import { Scroll } from '../parts/data-table.tsx';
import { bytesText, msText } from '../parts/figures-text.ts';
import { NumberHeads } from '../parts/number-heads.tsx';
import type { Figures, Snapshot } from './figures.ts';

const columns = ['in flight', 'queued', 'connections', 'streams', 'memory', 'loop delay p99'];

/** The server processes of the service, where there are several. */
export function ProcessTable({ figures }: { readonly figures: Figures }) {
  const serving = figures.snapshots.filter(({ gauges }) => gauges !== undefined);
  if (serving.length < 2) return null;
  return (
    <section aria-labelledby="processes-title">
      <h2 id="processes-title">Processes</h2>
      <Scroll label="Processes">
        <table class="figures">
          <thead>
            <tr>
              <th scope="col">process</th>
              <NumberHeads names={columns} />
            </tr>
          </thead>
          <tbody>
            {serving.map((snapshot) => (
              <Row key={snapshot.process} snapshot={snapshot} />
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}

function Row({ snapshot }: { readonly snapshot: Snapshot }) {
  const { process, gauges } = snapshot;
  const value = (name: keyof NonNullable<typeof gauges>): number => Number(gauges?.[name] ?? 0);
  return (
    <tr>
      <th scope="row">{process}</th>
      <td class="number">{value('requestsInFlight').toLocaleString('en')}</td>
      <td class="number">{value('queued').toLocaleString('en')}</td>
      <td class="number">{value('connections').toLocaleString('en')}</td>
      <td class="number">{value('openStreams').toLocaleString('en')}</td>
      <td class="number">{bytesText(value('residentMemory'))}</td>
      <td class="number">{msText(value('eventLoopDelayP99') * 1000)}</td>
    </tr>
  );
}
