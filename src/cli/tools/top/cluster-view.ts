import { fitted, table } from '../../output.ts';
import type { Member, Standing } from './members.ts';
import { showSeconds, showSpan, whole } from './show.ts';
import type { Room } from './view.ts';

const headings = [
  'SERVICE',
  'MEMBER',
  'STATE',
  'VERSION',
  'CONTRACT',
  'GATEWAYS',
  'IN FLIGHT',
  'CALLS/S',
  'RETURNS',
  'HEARD',
  'UP',
];

/** @param lost how many members were lost while somebody watched */
export function clusterView(
  title: string,
  members: readonly Member[],
  lost: number,
  wallMs: number,
  room: Room,
): string[] {
  const count = (standing: Standing): string =>
    whole(members.filter((one) => one.standing === standing).length);
  const alive = members.filter(({ standing }) => standing !== 'lost');
  const load = alive.reduce((sum, one) => sum + one.load, 0);
  const calls = alive.reduce((sum, { callsPerSecond = 0 }) => sum + callsPerSecond, 0);
  // Each gateway is known to every member that it may send calls to.
  const gateways = Math.max(0, ...alive.map((one) => one.gateways));
  const summary = `members ${count('ready')} ready, ${count('draining')} draining, ${count('silent')} silent  lost ${whole(lost)}  gateways ${whole(gateways)}  in flight ${whole(load)}  calls ${whole(calls)}/s  ${several(alive, 'version')}  ${several(alive, 'contract')}`;
  const rows = members.map((member) => [
    member.service,
    member.id,
    member.standing,
    member.version,
    member.contract.slice(0, 12),
    whole(member.gateways),
    whole(member.load),
    perSecond(member),
    whole(member.returns),
    `${showSeconds(member.silentMs / 1000)} ago`,
    showSpan((wallMs - member.started) / 1000),
  ]);
  const lines = [title, summary, ''];
  const list = members.length === 0 ? ['no member answers'] : table([headings, ...rows]);
  const fits = room.rows === undefined ? list.length : Math.max(1, room.rows - lines.length);
  return [...lines, ...list.slice(0, fits)].map((line) => fitted(line, room.columns));
}

function perSecond({ callsPerSecond }: Member): string {
  return callsPerSecond === undefined ? '-' : whole(callsPerSecond);
}

function several(members: readonly Member[], what: 'version' | 'contract'): string {
  const count = new Set(members.map((one) => `${one.service} ${one[what]}`)).size;
  return `${what}s ${whole(count)}`;
}
