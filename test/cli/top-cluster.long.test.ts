import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { clusterView, Members } from '../../src/cli/tools/top/cluster.ts';
import type { Heartbeat } from '../../src/extras/nats/liveness.ts';
import { connected } from '../nats/connected.ts';
import { describeNats, NatsServer } from '../nats/server.ts';
import { CommandLine } from './command-line.ts';

const started = Date.now() - 65_000;

function beat(id: string, more: Partial<Heartbeat> = {}): Heartbeat {
  return {
    id,
    state: 'ready',
    contract: 'abcdefghijklmnopqrstuv',
    version: '1.0.0',
    started,
    load: 0,
    gateways: 0,
    calls: 0,
    returns: 0,
    ...more,
  };
}

/** A member, as far as whoever watches sees it: it tells of itself when it is asked to. */
async function member(t: TestContext, url: string, heartbeat: Heartbeat): Promise<void> {
  const { connection } = await connected(t, url);
  connection.subscribe('shop.hi', () => {
    connection.publish('shop.hb', JSON.stringify(heartbeat));
  });
  await connection.confirm();
}

describeNats('tandem top nats://', () => {
  const commands = CommandLine.suite();

  test('--once prints the members of a service', async (t) => {
    const server = await NatsServer.start({
      config: 'authorization { user: a, password: secret }',
    });
    t.after(() => server.close());
    const url = server.url.replace('//', '//a:secret@');
    const top = ['top', url, '--service', 'shop'];
    await member(t, url, beat('one', { load: 3, gateways: 2 }));
    await member(t, url, beat('two', { version: '1.1.0', state: 'draining', returns: 2 }));
    let stdout = '';
    // On a busy machine an answer may take longer than the command waits.
    while (!stdout.includes('members 1 ready, 1 draining')) {
      const { code, stdout: text, stderr } = await commands.run([...top, '--once']);
      assert.equal(code, 0, stderr);
      stdout = text;
    }
    const [title, summary, , headings, ...rows] = stdout.split('\n');
    assert.equal(title, `tandem top ${server.url}`);
    assert.equal(
      summary,
      'members 1 ready, 1 draining, 0 silent  lost 0  gateways 2  in flight 3  calls 0/s  versions 2  contracts 1',
    );
    assert.match(
      String(headings),
      /^SERVICE +MEMBER +STATE +VERSION +CONTRACT +GATEWAYS +IN FLIGHT +CALLS\/S +RETURNS/,
    );
    assert.match(
      rows.join('\n'),
      /^shop +one +ready +1\.0\.0 +abcdefghijkl +2 +3 +- +0 +\S+ \w+ ago +1m/m,
    );
    assert.match(rows.join('\n'), /^shop +two +draining +1\.1\.0 +abcdefghijkl +0 +0 +- +2 +/m);
  });

  test('says that nobody answers', async (t) => {
    const server = await NatsServer.start();
    t.after(() => server.close());
    const { code, stdout } = await commands.run(['top', server.url, '--once']);
    assert.equal(code, 0);
    assert.match(stdout, /no member answers\n$/);
  });

  test('says what is wrong in one line', async (t) => {
    const server = await NatsServer.start({
      config: 'authorization { user: a, password: secret }',
    });
    t.after(() => server.close());
    const { code, stderr } = await commands.run(['top', server.url, '--once']);
    assert.equal(code, 1);
    assert.match(stderr, /^tandem: nats: \S+ does not let this client in .*\n$/);
    const odd = await commands.run(['top', server.url, '--service', 'a.b']);
    assert.match(odd.stderr, /^tandem: --service: expected names of letters.*\n$/);
  });
});

test('members that fall silent are lost, unless they said that they end', () => {
  const members = new Members(2000, 10_000);
  members.hear('shop', beat('stays'), 0);
  members.hear('shop', beat('dies'), 0);
  members.hear('shop', beat('ends', { state: 'draining' }), 0);
  const standings = (now: number) =>
    Object.fromEntries(members.list(now).map(({ id, standing }) => [id, standing]));
  assert.deepEqual(standings(1000), { stays: 'ready', dies: 'ready', ends: 'draining' });
  members.hear('shop', beat('stays'), 2500);
  assert.deepEqual(standings(2500), { stays: 'ready', dies: 'silent' });
  members.hear('shop', beat('stays'), 10_500);
  assert.deepEqual(standings(10_500), { stays: 'ready', dies: 'lost' });
  assert.equal(members.lost, 1);
  members.hear('shop', beat('dies'), 11_000);
  assert.equal(members.lost, 0, 'it came back');
  assert.deepEqual(standings(11_000), { stays: 'ready', dies: 'ready' });
});

test('a process has one id in all its services: each of them has its own row', () => {
  const members = new Members(2000, 10_000);
  const hear = (calls: number, now: number): void => {
    members.hear('cart', beat('one', { calls, load: 1 }), now);
    members.hear('shop', beat('one', { calls: calls * 10, load: 2 }), now);
  };
  hear(0, 0);
  hear(100, 1000);
  const rows = members
    .list(1000)
    .map(({ service, load, callsPerSecond }) => ({ service, load, callsPerSecond }));
  assert.deepEqual(rows, [
    { service: 'cart', load: 1, callsPerSecond: 100 },
    { service: 'shop', load: 2, callsPerSecond: 1000 },
  ]);
  members.hear('shop', beat('one', { calls: 1000 }), 11_500);
  const standings = members.list(11_500).map(({ service, standing }) => [service, standing]);
  assert.deepEqual(standings, [
    ['cart', 'lost'],
    ['shop', 'ready'],
  ]);
  assert.equal(members.lost, 1);
});

test('the calls of a process under the id of another one are counted anew', () => {
  const members = new Members(2000, 10_000);
  members.hear('shop', beat('one', { calls: 0 }), 0);
  members.hear('shop', beat('one', { calls: 5000 }), 1000);
  members.hear('shop', beat('one', { calls: 10, started: started + 2000 }), 2000);
  assert.equal(members.list(2000)[0]?.callsPerSecond, undefined);
  members.hear('shop', beat('one', { calls: 40, started: started + 2000 }), 3000);
  assert.equal(members.list(3000)[0]?.callsPerSecond, 30);
});

test('nobody is silent while NATS is away', () => {
  const members = new Members(2000, 10_000);
  members.hear('shop', beat('one'), 0);
  members.setAway(true, 1000);
  assert.equal(members.list(60_000)[0]?.standing, 'ready');
  members.setAway(false, 60_000);
  assert.equal(members.list(60_500)[0]?.standing, 'ready');
  assert.equal(members.list(62_500)[0]?.standing, 'silent');
});

test('calls are counted over a second at least, however often a member is heard', () => {
  const members = new Members(2000, 10_000);
  const perSecond = (calls: number, now: number): number | undefined => {
    members.hear('shop', beat('one', { calls }), now);
    return members.list(now)[0]?.callsPerSecond;
  };
  assert.equal(perSecond(100, 0), undefined);
  assert.equal(perSecond(130, 100), undefined);
  assert.equal(perSecond(600, 1000), 500);
  assert.equal(perSecond(900, 1001), 500);
  assert.equal(perSecond(600, 2000), 0);
  // While NATS is away nobody is heard, and no time is counted.
  members.setAway(true, 2000);
  members.setAway(false, 9000);
  assert.equal(perSecond(1000, 10_000), 400);
});

test('the view of members fits the screen, and holds nothing that drives a terminal', () => {
  const members = new Members(2000, 10_000);
  for (let i = 0; i < 50; i++) members.hear('shop', beat(`m${i}\u001b[2J`), 0);
  const lines = clusterView('title', members.list(1), 0, Date.now(), { rows: 20, columns: 60 });
  assert.equal(lines.length, 20);
  assert.ok(lines.every((line) => line.length <= 60));
  assert.doesNotMatch(lines.join(''), /\p{Cc}/u);
});
