import { setTimeout as pause } from 'node:timers/promises';
import { clockMs } from '../../../core/base/clock.ts';
import { escapeControls } from '../../../core/base/escape.ts';
import type { Config } from '../../../core/config/config.ts';
import { connectNats } from '../../../extras/nats/connection/connect.ts';
import type { NatsEvents } from '../../../extras/nats/connection/connection.ts';
import { type Heartbeat, parseHeartbeat } from '../../../extras/nats/liveness.ts';
import { Subjects } from '../../../extras/nats/subjects.ts';
import { table } from '../../output.ts';
import { fill, type Room, type ShowOptions, show, showSeconds, showSpan, whole } from './screen.ts';

/** How long `--once` waits for members to answer, milliseconds. They answer at once. */
const answerMs = 500;

/** `tandem top nats://...`: the members of services, as gateways see them. */
export async function topOfCluster(config: Config, options: ShowOptions): Promise<never> {
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
  for (const service of config.service) {
    const { heartbeat, hello } = new Subjects(service);
    connection.subscribe(heartbeat, ({ data }) =>
      members.hear(service, parseHeartbeat(data), clockMs()),
    );
    connection.publish(hello, '');
  }
  await connection.confirm();
  await pause(answerMs);
  return show(
    {
      title: `tandem top ${config.nats.map(shownServer).join(', ')}`,
      draw: (title, room) => {
        // The list comes first: it finds out who is lost.
        const list = members.list(clockMs());
        return clusterView(title, list, members.lost, Date.now(), room);
      },
      look: async () => {
        for (const service of config.service) connection.publish(new Subjects(service).hello, '');
        await connection.flush();
      },
      note: (trouble) => (connection.connected ? trouble || denied : 'NATS does not answer'),
    },
    options,
  );
}

/** Without what logs in. */
function shownServer(server: string): string {
  return escapeControls(server.replace(/\/\/[^@/]*@/, '//'));
}

interface Member extends Heartbeat {
  readonly service: string;
  /** How it looks from outside. */
  readonly standing: 'ready' | 'draining' | 'silent' | 'lost';
  /** Milliseconds since its last heartbeat. */
  readonly silentMs: number;
  /** Calls that it took in a second; undefined: it was not heard for long enough. */
  readonly callsPerSecond: number | undefined;
}

interface Heard {
  readonly service: string;
  readonly heartbeat: Heartbeat;
  readonly at: number;
  /** Since when its calls are counted, and what it had taken then. */
  readonly from: { readonly at: number; readonly calls: number };
  readonly callsPerSecond: number | undefined;
}

/** Calls are counted over so long at least, milliseconds: heartbeats may come one upon another. */
const countedMs = 900;

/** How long a member that is lost is still shown, milliseconds. */
const shownMs = 60_000;

/** The members that were heard while somebody watched. */
export class Members {
  readonly #silentMs: number;
  readonly #lostMs: number;
  /** By service and id, as those that were lost: a process has one id for all services that it is a member of. */
  readonly #heard = new Map<string, Heard>();
  readonly #lost = new Set<string>();
  /** While NATS is away nobody can be heard. */
  #awayMs = 0;
  #awaySince: number | undefined;

  /** @param silentMs of silence make a member silent; `lostMs` make it lost */
  constructor(silentMs: number, lostMs: number) {
    this.#silentMs = silentMs;
    this.#lostMs = lostMs;
  }

  hear(service: string, heartbeat: Heartbeat, now: number): void {
    const at = now - this.#away(now);
    const { calls, id } = heartbeat;
    const key = `${service} ${id}`;
    const before = this.#heard.get(key);
    // Another process under the same id counts anew.
    const isSame = before?.heartbeat.started === heartbeat.started && calls >= before.from.calls;
    let { from, callsPerSecond } = isSame
      ? before
      : { from: { at, calls }, callsPerSecond: undefined };
    if (at - from.at >= countedMs) {
      callsPerSecond = ((calls - from.calls) * 1000) / (at - from.at);
      from = { at, calls };
    }
    this.#heard.set(key, { service, heartbeat, at, from, callsPerSecond });
    this.#lost.delete(key);
  }

  /** NATS is not there, or is back. */
  setAway(isAway: boolean, now: number): void {
    if (isAway) {
      this.#awaySince ??= now;
      return;
    }
    this.#awayMs = this.#away(now);
    this.#awaySince = undefined;
  }

  /** Members that fell silent for good without having said that they end. */
  get lost(): number {
    return this.#lost.size;
  }

  /** Sorted by service, then by age. Forgets those that have gone. */
  list(now: number): Member[] {
    const time = now - this.#away(now);
    const members: Member[] = [];
    for (const [key, { service, heartbeat, at, callsPerSecond }] of this.#heard) {
      const silentMs = time - at;
      const isLate = silentMs > this.#silentMs;
      if (silentMs > shownMs || (isLate && heartbeat.state === 'draining')) {
        this.#heard.delete(key);
        continue;
      }
      if (silentMs > this.#lostMs) this.#lost.add(key);
      const standing = silentMs > this.#lostMs ? 'lost' : isLate ? 'silent' : heartbeat.state;
      members.push({ ...heartbeat, service, standing, silentMs, callsPerSecond });
    }
    return members.sort((a, b) => compare(a.service, b.service) || a.started - b.started);
  }

  #away(now: number): number {
    return this.#awayMs + (this.#awaySince === undefined ? 0 : now - this.#awaySince);
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
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
  const count = (standing: Member['standing']): string =>
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
    member.callsPerSecond === undefined ? '-' : whole(member.callsPerSecond),
    whole(member.returns),
    `${showSeconds(member.silentMs / 1000)} ago`,
    showSpan((wallMs - member.started) / 1000),
  ]);
  const lines = [title, summary, ''];
  return fill(
    lines,
    members.length === 0 ? ['no member answers'] : table([headings, ...rows]),
    room,
  );
}

function several(members: readonly Member[], what: 'version' | 'contract'): string {
  const count = new Set(members.map((one) => `${one.service} ${one[what]}`)).size;
  return `${what}s ${whole(count)}`;
}
