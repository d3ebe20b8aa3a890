import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { StartupError } from '../../src/index.ts';
import { root } from '../files.ts';
import { type Connected, connected, refusal } from './connected.ts';
import { describeNats, NatsServer } from './server.ts';

const roles = ['gateway', 'member', 'client'] as const;
type Role = (typeof roles)[number];

const passwords = Object.fromEntries(
  roles.map((role) => [`${role.toUpperCase()}_PASSWORD`, `secret-of-${role}`]),
);

interface Sample {
  readonly server: NatsServer;
  readonly as: (role: Role) => ReturnType<typeof connected>;
}

/** A server with the configuration that examples/cluster ships, to the letter. */
async function sample(t: TestContext): Promise<Sample> {
  const config = readFileSync(join(root, 'examples/cluster/nats.conf'), 'utf8');
  const server = await NatsServer.startFor(t, { config, env: passwords });
  const url = (role: Role): string => server.url.replace('//', `//${role}:secret-of-${role}@`);
  return { server, as: (role) => connected(t, url(role)) };
}

/** What each role must be able to do, and nothing else. */
const publishes: Readonly<Record<string, readonly Role[]>> = {
  'tandem.m.memberid': ['gateway'],
  'tandem.hi': ['gateway'],
  'tandem.doc.contract': ['gateway'],
  'tandem.g.gatewayid.memberid': ['member'],
  'tandem.hb': ['member'],
  'tandem.call.math.add': ['client'],
  'tandem.rpc': ['client'],
  '$SRV.PING': ['client'],
  '$SRV.INFO.tandem.id': ['client'],
  '_INBOX.somebody.1': [],
  '$SYS.REQ.SERVER.PING': [],
  '$JS.API.INFO': [],
  'other.m.id': [],
  whatever: [],
};

const subscribes: Readonly<Record<string, readonly Role[]>> = {
  'tandem.g.gatewayid.>': ['gateway'],
  'tandem.hb': ['gateway'],
  '_INBOX.somebody.*': ['gateway', 'client'],
  'tandem.m.memberid': ['member'],
  'tandem.hi': ['member'],
  'tandem.doc.contract': ['member'],
  'tandem.call.math.add': ['member'],
  'tandem.rpc': ['member'],
  '$SRV.PING': ['member'],
  '>': [],
  '*.m.>': [],
};

/** The server has judged what was published, and the client has told of it: it tells one thing after another, in microtasks. */
async function toldOf(connection: Connected['connection']): Promise<void> {
  await connection.flush();
  await setImmediate();
}

async function maySubscribe(
  connection: Connected['connection'],
  subject: string,
): Promise<boolean> {
  const subscription = connection.subscribe(subject, () => {});
  try {
    await connection.confirm();
    return true;
  } catch (error) {
    assert.ok(error instanceof StartupError);
    return false;
  } finally {
    subscription.unsubscribe();
  }
}

describeNats('the sample configuration of the server', () => {
  test('lets nobody in without a password', async (t) => {
    const { server } = await sample(t);
    for (const credentials of ['', 'gateway:wrong@', 'stranger:secret-of-gateway@', 'token@']) {
      const url = server.url.replace('//', `//${credentials}`);
      assert.match(await refusal(url), /does not let this client in/, credentials);
    }
  });

  for (const role of roles) {
    test(`lets a ${role} publish what is its own, and nothing else`, async (t) => {
      const { as } = await sample(t);
      const { connection, events } = await as(role);
      for (const subject of Object.keys(publishes)) connection.publish(subject, 'x');
      await toldOf(connection);
      const denied = Object.keys(publishes).filter(
        (subject) => !publishes[subject]?.includes(role),
      );
      assert.deepEqual(
        events.told,
        denied.map((subject) => `denied publish ${subject}`),
      );
    });

    test(`lets a ${role} hear what is its own, and nothing else`, async (t) => {
      const { as } = await sample(t);
      for (const [subject, allowed] of Object.entries(subscribes)) {
        // A connection of its own each: a denial is remembered.
        const { connection } = await as(role);
        assert.equal(await maySubscribe(connection, subject), allowed.includes(role), subject);
        await connection.close();
      }
    });
  }

  test('lets a member answer whoever asked, once', async (t) => {
    const { as } = await sample(t);
    const { connection: member, events } = await as('member');
    const { connection: client } = await as('client');
    member.subscribe('tandem.call.echo', ({ data, reply = '' }) => {
      member.publish(reply, data);
      member.publish(reply, 'again');
    });
    await member.confirm();
    const heard: string[] = [];
    client.subscribe('_INBOX.me.*', ({ data }) => heard.push(Buffer.from(data).toString()));
    client.publish('tandem.call.echo', 'hello', { reply: '_INBOX.me.1' });
    // The server has sent the call, the member has it and has answered, the server has judged the answers, the client has them.
    await client.flush();
    await member.flush();
    await toldOf(member);
    await client.flush();
    assert.deepEqual(heard, ['hello']);
    assert.deepEqual(events.told, ['denied publish _INBOX.me.1']);
  });
});
