import { setTimeout as pause } from 'node:timers/promises';
import { clockMs } from '../../../base/clock.ts';
import { escapeControls } from '../../../base/escape.ts';
import type { Config } from '../../../config/config.ts';
import { connectNats } from '../../../nats/connection/connect.ts';
import type { NatsConnection } from '../../../nats/connection/connection.ts';
import type { NatsEvents } from '../../../nats/events.ts';
import { parseHeartbeat } from '../../../nats/heartbeat.ts';
import { Subjects } from '../../../nats/subjects.ts';
import { printAndExit } from '../../ending.ts';
import { clusterView } from './cluster-view.ts';
import { Members } from './members.ts';
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
  const connection = await connectNats(
    {
      servers: config.nats,
      creds: config.natsCreds,
      nkey: config.natsNkey,
      ca: config.natsCa,
      cert: config.natsCert,
      key: config.natsKey,
      startTimeoutMs: config.startTimeoutMs,
      name: 'tandem top',
    },
    events,
  );
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
