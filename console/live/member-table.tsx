import { Scroll } from '../parts/data-table.tsx';
import { timeText } from '../parts/figures-text.ts';
import { NumberHeads } from '../parts/number-heads.tsx';
import type { Figures } from './figures.ts';

const columns = ['procedures', 'calls here', 'streams', 'calls of others', 'lost', 'started'];

/** The members of a gateway: who they are, what is with them, what was lost with them. */
export function MemberTable({ members: given, snapshots }: Figures) {
  const isGateway = snapshots.some(({ gauges }) => gauges?.remoteMembers !== undefined);
  if (!isGateway) return null;
  const members = given.toSorted(
    (a, b) => a.service.localeCompare(b.service) || a.started - b.started,
  );
  const hasServices = new Set(members.map(({ service }) => service)).size > 1;
  const hasProcesses = new Set(members.map(({ process }) => process)).size > 1;
  return (
    <section aria-labelledby="members-title">
      <h2 id="members-title">Members</h2>
      {members.length === 0 ? (
        <p class="hint">There are none: calls of what they serve wait for one.</p>
      ) : (
        <Scroll label="Members">
          <table class="figures">
            <thead>
              <tr>
                {hasProcesses && <th scope="col">seen by process</th>}
                {hasServices && <th scope="col">service</th>}
                <th scope="col">member</th>
                <th scope="col">version</th>
                <th scope="col">state</th>
                <NumberHeads names={columns} />
              </tr>
            </thead>
            <tbody>
              {members.map((member) => (
                <tr key={`${member.process} ${member.service} ${member.id}`}>
                  {hasProcesses && <td>{member.process}</td>}
                  {hasServices && <td>{member.service}</td>}
                  <th scope="row">
                    <code>{member.id}</code>
                  </th>
                  <td>{member.version}</td>
                  <td>
                    <span class={`tag ${['silent', 'hung'].includes(member.state) ? 'warn' : ''}`}>
                      {member.state}
                    </span>
                  </td>
                  <td class="number">{member.procedures.toLocaleString('en')}</td>
                  <td class="number">{member.inFlight.toLocaleString('en')}</td>
                  <td class="number">{member.streams.toLocaleString('en')}</td>
                  <td class="number">{member.othersLoad.toLocaleString('en')}</td>
                  <td class={member.lost > 0 ? 'number has-errors' : 'number'}>
                    {member.lost.toLocaleString('en')}
                  </td>
                  <td class="number">{timeText(new Date(member.started))}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </section>
  );
}
