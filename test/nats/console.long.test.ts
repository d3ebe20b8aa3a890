/** docs/console.md, "Watching the service": what the console of a gateway shows of its members. */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fixture, startCli } from '../cli/process.ts';
import { temporaryFolder } from '../files.ts';
import { until } from '../turns.ts';
import { call, gateway, member, serve, untilReady, withLimits } from './apps.ts';
import { describeNats, NatsServer } from './server.ts';

interface Figures {
  readonly snapshots: readonly {
    readonly counters: Readonly<Record<string, number>>;
    readonly gauges: Readonly<Record<string, number>>;
  }[];
  readonly members: readonly {
    readonly process: string;
    readonly service: string;
    readonly id: string;
    readonly version: string;
    readonly state: string;
    readonly procedures: number;
    readonly inFlight: number;
    readonly streams: number;
    readonly lost: number;
  }[];
  readonly events: readonly { readonly event: string; readonly text: string }[];
}

async function figuresOf(url: string): Promise<Figures> {
  const response = await fetch(new URL('/console/figures', url));
  return (await response.json()) as Figures;
}

/** The figures for which something holds: one text is kept for a second. */
async function figuresWhere(url: string, holds: (figures: Figures) => boolean): Promise<Figures> {
  let found = await figuresOf(url);
  await until(async () => {
    found = await figuresOf(url);
    return holds(found);
  });
  return found;
}

describeNats('the console of a gateway', () => {
  let server: NatsServer;
  before(async () => {
    server = await NatsServer.start();
  });
  after(() => server.close());

  test('has examples of params for the procedures of its members', async (t) => {
    await member(t, server.url, { name: 'one', procedures: ['who'] });
    const front = await gateway(t, server.url, { console: true });
    await untilReady(front.url);
    const example = await fetch(new URL('/console/example?procedure=who', front.url));
    assert.deepEqual([example.status, await example.json()], [200, {}]);
  });

  test('has its members with their versions, states and load; who leaves is told among the events', async (t) => {
    const old = await member(t, server.url, { name: 'old', version: '1.9.0' });
    await member(t, server.url, { name: 'new', version: '1.10.0', procedures: ['who', 'more'] });
    const front = await gateway(t, server.url, { console: true });
    await untilReady(front.url);
    const { members, snapshots } = await figuresWhere(
      front.url,
      (figures) => figures.members.filter(({ state }) => state === 'ready').length === 2,
    );
    const shown = members
      .map(({ service, version, state, procedures, inFlight, streams, lost }) => {
        return { service, version, state, procedures, inFlight, streams, lost };
      })
      .sort((a, b) => b.version.localeCompare(a.version));
    const idle = { service: 'tandem', state: 'ready', inFlight: 0, streams: 0, lost: 0 };
    assert.deepEqual(shown, [
      { ...idle, version: '1.9.0', procedures: 2 },
      { ...idle, version: '1.10.0', procedures: 3 },
    ]);
    assert.equal(snapshots[0]?.gauges?.remoteMembers, 2);
    await old.app.close();
    const left = await figuresWhere(front.url, (figures) => figures.members.length === 1);
    assert.equal(left.members[0]?.version, '1.10.0');
    const told = left.events.map(({ event }) => event);
    assert.equal(told.filter((event) => event === 'member-joined').length, 2);
    assert.ok(told.includes('member-left'));
    assert.ok(left.events.some(({ text }) => text.endsWith('version: 1.9.0')));
  });

  test('has calls that are with a member, and those that were lost with it', async (t) => {
    const journal = join(temporaryFolder(t), 'journal');
    writeFileSync(journal, '');
    const few = ['--no-supervisor', '--workers', '1', '--spare-workers', '0', '--port', '0'];
    const nats = ['--nats', server.url, '--service', 'slow'];
    const args = ['serve', fixture('cluster/journal.ts'), ...few, ...nats];
    const running = startCli(args, { JOURNAL: journal });
    t.after(async () => {
      running.child.kill('SIGKILL');
      await running.exit;
    });
    const front = await withLimits({ silentMs: 1000, hungMs: 1500 }, () =>
      serve(t, {
        console: true,
        nats: { servers: server.url, service: ['slow'], role: 'gateway' },
      }),
    );
    await untilReady(front.url);
    const reply = call(front.url, 'wait', { key: 'k', ms: 0 });
    await until(() => readFileSync(journal, 'utf8').includes('ran k'));
    const busy = await figuresWhere(front.url, ({ members }) => members[0]?.inFlight === 1);
    assert.equal(busy.members[0]?.service, 'slow');
    assert.equal(busy.snapshots[0]?.gauges?.remoteInFlight, 1);
    const pid = running.child.pid ?? assert.fail('it does not run');
    process.kill(pid, 'SIGSTOP');
    assert.equal((await reply).error?.code, -32002);
    const hung = await figuresWhere(front.url, ({ members }) => members[0]?.state === 'hung');
    assert.deepEqual([hung.members[0]?.lost, hung.members[0]?.inFlight], [1, 0]);
    assert.equal(hung.snapshots[0]?.counters.remoteLost, 1);
    assert.ok(hung.events.some(({ event }) => event === 'member-silent'));
  });
});
