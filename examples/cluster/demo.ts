/**
 * `node --import tsx examples/cluster/demo.ts`: a server of NATS, two members and a gateway on this machine. Callers book orders all the time, while
 * the members are replaced by a new version, one is killed, one stands still, and NATS stops twice. Prints what the callers saw, and
 * whether an order ran twice. Ends with 1 where one did, or where one got no answer.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { findNatsServer, NatsServer, needs } from '../../test/nats/nats-server.ts';
import { Callers, tableOf } from './callers.ts';
import { Tandem } from './tandem.ts';

const perSecond = 50;
/** How long callers are watched at each step: longer than a gateway waits for a member that is gone (3 s). */
const stepMs = 4000;

function say(text: string): void {
  console.error(text);
}

if (findNatsServer() === undefined) {
  say(needs);
  process.exit(1);
}

const folder = mkdtempSync(join(tmpdir(), 'tandem-demo-'));
const journal = join(folder, 'journal');
const nats = await NatsServer.start();
const running: Tandem[] = [];

async function start(what: string, args: readonly string[], version = '1'): Promise<Tandem> {
  say(`start ${what}`);
  const started = await Tandem.start([...args, '--nats', nats.url, '--service', 'orders'], {
    ORDERS_JOURNAL: journal,
    ORDERS_VERSION: version,
  });
  running.push(started);
  return started;
}

const module = fileURLToPath(new URL('./procedures.ts', import.meta.url));

function member(name: string, version: string): Promise<Tandem> {
  const options = ['--port', '0', '--workers', '1', '--nice', '0'];
  const isVersion = ['--service-version', `${version}.0.0`];
  return start(
    `member ${name}, version ${version}`,
    ['serve', module, ...options, ...isVersion],
    version,
  );
}

async function step(callers: Callers, name: string, act?: () => Promise<void>): Promise<void> {
  say(name);
  callers.enter(name);
  const acted = act?.();
  await Promise.all([acted, pause(stepMs)]);
}

try {
  const first = await member('a', '1');
  const second = await member('b', '1');
  const gateway = await start('gateway', ['gateway', '--port', '0']);
  const callers = new Callers(gateway.url, perSecond, 'nothing happens');
  await step(callers, 'nothing happens');
  let third: Tandem | undefined;
  await step(callers, 'deploy: members of version 2 in, of version 1 out', async () => {
    third = await member('c', '2');
    await first.stop();
    await member('d', '2');
    await second.stop();
  });
  await step(callers, 'a member is killed (SIGKILL)', async () => third?.kill());
  await member('e', '2');
  const newest = running.at(-1);
  await step(callers, 'a member stands still for 1.5 s (SIGSTOP)', async () => {
    newest?.signal('SIGSTOP');
    await pause(1500);
    newest?.signal('SIGCONT');
  });
  for (const ms of [300, 2000]) {
    await step(callers, `NATS is killed, and is back after ${ms / 1000} s`, async () => {
      await nats.kill();
      await pause(ms);
      await nats.restart();
    });
  }
  await step(callers, 'nothing happens any more');
  await callers.stop();
  const ran = readFileSync(journal, 'utf8').trim().split('\n');
  const twice = ran.length - new Set(ran).size;
  const known = new Set(ran);
  const results = callers.seen.filter(({ what }) => what === 'result');
  const neverRan = results.filter(({ key }) => !known.has(key)).length;
  const unanswered = callers.seen.filter(({ what }) => what.startsWith('no answer')).length;
  console.log(`\n${tableOf(callers.seen)}\n`);
  console.log(
    `${callers.seen.length} orders: ran twice ${twice}, answered without a run ${neverRan}, not answered ${unanswered}`,
  );
  if (twice + neverRan + unanswered > 0) process.exitCode = 1;
} finally {
  await Promise.all(running.map((one) => one.kill()));
  await nats.close();
  rmSync(folder, { recursive: true });
}
