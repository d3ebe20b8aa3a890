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
  'IN FLIGHT',
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
  const summary = `members ${count('ready')} ready, ${count('draining')} draining, ${count('silent')} silent  lost ${whole(lost)}  in flight ${whole(load)}  ${several(alive, 'version')}  ${several(alive, 'contract')}`;
  const rows = members.map((member) => [
    member.service,
    member.id,
    member.standing,
    member.version,
    member.contract.slice(0, 12),
    whole(member.load),
    whole(member.returns),
    `${showSeconds(member.silentMs / 1000)} ago`,
    showSpan((wallMs - member.started) / 1000),
  ]);
  const lines = [title, summary, ''];
  const list = members.length === 0 ? ['no member answers'] : table([headings, ...rows]);
  const fits = room.rows === undefined ? list.length : Math.max(1, room.rows - lines.length);
  return [...lines, ...list.slice(0, fits)].map((line) => fitted(line, room.columns));
}

function several(members: readonly Member[], what: 'version' | 'contract'): string {
  const count = new Set(members.map((one) => `${one.service} ${one[what]}`)).size;
  return `${what}s ${whole(count)}`;
}
