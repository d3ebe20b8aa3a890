import { setTimeout as pause } from 'node:timers/promises';
import { clockMs } from '../../../core/base/clock.ts';
import { escapeControls } from '../../../core/base/escape.ts';
import type { Config } from '../../../core/config/config.ts';
import { connectNats } from '../../../extras/nats/connection/connect.ts';
import type { NatsConnection, NatsEvents } from '../../../extras/nats/connection/connection.ts';
import { parseHeartbeat } from '../../../extras/nats/liveness.ts';
import { Subjects } from '../../../extras/nats/subjects.ts';
import { printAndExit } from '../../ending.ts';
import { fitted, table } from '../../output.ts';
import { type Member, Members, type Standing } from './members.ts';
import { showSeconds, showSpan, whole } from './show.ts';
import type { Room } from './view.ts';
import { type Watched, watch } from './watch.ts';

export interface ClusterOptions {
  readonly once: boolean;
  readonly intervalMs: number;
  readonly config: Config;
}

/** How long `--once` waits for members to answer, milliseconds. They answer at once. */
const answerMs = 500;

/** `tandem top nats://...`: the members of services, as gateways see them. */
export async function topOfCluster({ once, intervalMs, config }: ClusterOptions): Promise<void> {
  const members = new Members(config.memberSilentMs, config.memberHungMs);
  let denied = '';
  const events: NatsEvents = {
    disconnected: () => members.setAway(true, clockMs()),
    reconnected: () => members.setAway(false, clockMs()),
    denied: (operation, subject) => {
      denied = `the server does not allow to ${operation === 'publish' ? 'publish' : 'subscribe'} to ${subject}`;
    },
    // What is no heartbeat is not shown.
    callbackFailed: () => {},
  };
  const connection = await connectNats({ ...config, name: 'tandem top' }, events);
  for (const service of config.service) hear(connection, service, members);
  await connection.confirm();
  await pause(answerMs);
  const title = `tandem top ${config.nats.map(shownServer).join(', ')}`;
  const lines = (head: string, room: Parameters<Watched['draw']>[1]): string[] => {
    // The list comes first: it finds out who is lost.
    const list = members.list(clockMs());
    return clusterView(head, list, members.lost, Date.now(), room);
  };
  if (once || !process.stdout.isTTY) {
    await connection.close();
    const text = lines(title, { rows: undefined, columns: undefined });
    await printAndExit(text.map((line) => `${line}\n`).join(''));
  }
  const watched: Watched = {
    draw: (trouble, room) => {
      const note = connection.connected ? trouble || denied : 'NATS does not answer';
      return lines(`${title}  q ends${note === '' ? '' : `  (${escapeControls(note)})`}`, room);
    },
    look: async () => {
      for (const service of config.service) connection.publish(new Subjects(service).hello, '');
      await connection.flush();
    },
  };
  await watch(watched, intervalMs);
  process.exit(0);
}

function hear(connection: NatsConnection, service: string, members: Members): void {
  const subjects = new Subjects(service);
  connection.subscribe(subjects.heartbeat, ({ data }) =>
    members.hear(service, parseHeartbeat(data), clockMs()),
  );
  connection.publish(subjects.hello, '');
}

/** Without what logs in. */
function shownServer(server: string): string {
  return escapeControls(server.replace(/\/\/[^@/]*@/, '//'));
}

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
