import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { resolveConfig } from '../../../src/core/config/config.ts';
import { until } from '../../turns.ts';
import { type Lifetime, untilReady } from '../apps.ts';
import { type Callers, type Counts, countsOf, type Ended, lanes, noAnswer } from '../callers.ts';
import { FaultWorld, type MemberProcess } from '../fault-world.ts';
import { flood } from '../flood.ts';
import { StreamReaders } from './stream-readers.ts';

/** A line of the table. */
export interface SoakRow {
  readonly fault: string;
  readonly counts: Counts;
  /** From the end of the fault to the first result that shows it; undefined: nothing was to be shown. */
  readonly recoveryMs: number | undefined;
}

/** Calls of one crowd of callers in a second. */
const perSecond = 40;

/** Calls that end before a fault begins, and results that come when it is over. */
const [callsBefore, resultsAfter] = [200, 300];

/** Streams of one world, and values of each: they come for 7 s. */
const [streams, streamValues] = [20, 700];

const overloaded = '-32000';
const memberLost = '-32002 member';

/** Breaks a world under load, and mends it. Resolves with the milliseconds of its recovery. */
type Act = (world: FaultWorld, members: readonly MemberProcess[]) => Promise<number>;

/** The options of a gateway as operators have them: the tests' own are more patient. */
const { maxQueueMs } = resolveConfig();

function isResult({ code }: Ended): boolean {
  return code === 0;
}

/** Some calls are with members at any time, and others come meanwhile. */
function load(callers: Callers, method?: string): void {
  callers.start(method);
  callers.startPaced(perSecond, method);
}

/** Milliseconds from a moment to the first result after it, of those that are `like` it. */
async function firstAfter(
  callers: Callers,
  moment: number,
  like: (ended: Ended) => boolean = isResult,
): Promise<number> {
  const find = (): Ended | undefined => callers.ended.find((one) => one.at >= moment && like(one));
  await until(() => find() !== undefined);
  return (find()?.at ?? moment) - moment;
}

function fault(name: string, members: number, allowed: readonly string[], act: Act) {
  return async (lifetime: Lifetime): Promise<readonly SoakRow[]> => {
    const opened = await FaultWorld.open(lifetime, members, {}, { maxQueueMs });
    const { world } = opened;
    load(world.callers);
    await world.callers.more(callsBefore);
    const recoveryMs = await act(world, opened.members);
    await world.callers.more(resultsAfter, isResult);
    await world.callers.stop();
    return [{ fault: name, counts: world.counts(...allowed), recoveryMs }];
  };
}

function serverKilled(seconds: number) {
  const allowed = seconds * 1000 < maxQueueMs ? [] : [overloaded];
  return fault(`nats-server killed, back after ${seconds} s`, 2, allowed, async (world) => {
    await world.server.kill();
    await pause(seconds * 1000);
    await world.server.restart();
    return firstAfter(world.callers, performance.now());
  });
}

function memberStands(seconds: number, allowed: readonly string[]) {
  return fault(`member stands still for ${seconds} s`, 2, allowed, async (world, [member]) => {
    const pid = member?.pid ?? 0;
    process.kill(pid, 'SIGSTOP');
    await pause(seconds * 1000);
    process.kill(pid, 'SIGCONT');
    const at = performance.now();
    return firstAfter(world.callers, at, ({ by, from }) => by === pid && from >= at);
  });
}

async function deploy(world: FaultWorld, members: readonly MemberProcess[]): Promise<number> {
  let longestMs = 0;
  for (const { running } of members) {
    const next = await world.startMember();
    await world.callers.more(1, ({ by }) => by === next.pid);
    world.expectOneLess();
    const from = performance.now();
    running.child.kill('SIGTERM');
    await running.exit;
    longestMs = Math.max(longestMs, performance.now() - from);
  }
  return longestMs;
}

async function lastDies(world: FaultWorld, [member]: readonly MemberProcess[]): Promise<number> {
  process.kill(member?.pid ?? 0, 'SIGKILL');
  world.expectOneLess();
  await untilReady(world.front.url, 'alone');
  await world.callers.more(20, ({ code }) => code === -32000);
  const { readyAt } = await world.startMember();
  return firstAfter(world.callers, readyAt);
}

/** One of two members has a procedure that the other lacks, and is stopped. */
async function procedureGone(lifetime: Lifetime): Promise<readonly SoakRow[]> {
  const { world } = await FaultWorld.open(lifetime, 1, {}, { maxQueueMs });
  const last = await world.startMember({ EXTRA: 'yes' });
  const extra = world.callersOf(world.front.url);
  load(world.callers);
  load(extra, 'extra');
  await extra.more(callsBefore, isResult);
  const at = performance.now();
  last.running.child.kill('SIGTERM');
  const gone = await firstAfter(extra, at, ({ code }) => code === -32601);
  await Promise.all([world.callers.more(resultsAfter), extra.more(resultsAfter)]);
  await Promise.all([world.callers.stop(), extra.stop()]);
  const journal = world.journal();
  return [
    {
      fault: 'procedure gone from all live members',
      // Calls wait for another member first, and are refused like others that waited too long.
      counts: countsOf(extra.ended, journal, ['-32601', overloaded]),
      recoveryMs: gone,
    },
    { fault: 'the same: calls of other procedures', counts: world.counts(), recoveryMs: undefined },
  ];
}

/** The one of two members that has a procedure is stopped, and another one is started. */
async function procedureRestarted(lifetime: Lifetime): Promise<readonly SoakRow[]> {
  const { world } = await FaultWorld.open(lifetime, 1, {}, { maxQueueMs });
  const last = await world.startMember({ EXTRA: 'yes' });
  const extra = world.callersOf(world.front.url);
  load(extra, 'extra');
  await extra.more(callsBefore, isResult);
  world.expectOneLess();
  last.running.child.kill('SIGTERM');
  await last.running.exit;
  const { readyAt } = await world.startMember({ EXTRA: 'yes' });
  const recoveryMs = await firstAfter(extra, readyAt);
  await extra.more(resultsAfter, isResult);
  await extra.stop();
  const counts = countsOf(extra.ended, world.journal(), [overloaded]);
  return [
    { fault: 'the only member with a procedure restarted beside others', counts, recoveryMs },
  ];
}

/** One of two gateways is killed. */
async function gatewayDies(lifetime: Lifetime): Promise<readonly SoakRow[]> {
  const { world } = await FaultWorld.open(lifetime, 2, {}, { maxQueueMs });
  const { running, url } = await world.startGateway();
  await untilReady(url);
  const theirs = world.callersOf(url);
  // Calls that run until nobody waits for them any more.
  const waiting = world.callersOf(url, 'wait');
  load(world.callers);
  load(theirs);
  waiting.start('wait');
  const lines = (start: string): number =>
    world.journal().filter((line) => line.startsWith(start)).length;
  await until(() => lines('ran wait') === lanes);
  await Promise.all([world.callers.more(callsBefore), theirs.more(callsBefore)]);
  const at = performance.now();
  running.child.kill('SIGKILL');
  await Promise.all([theirs.stop(), waiting.stop()]);
  await until(() => lines('aborted wait') === lanes);
  const recoveryMs = performance.now() - at;
  await world.callers.more(resultsAfter, isResult);
  await world.callers.stop();
  const ended = [...theirs.ended, ...waiting.ended];
  return [
    {
      fault: 'one of two gateways killed: its callers',
      counts: countsOf(ended, world.journal(), [noAnswer]),
      recoveryMs,
    },
    { fault: 'the same: callers of the other', counts: world.counts(), recoveryMs: undefined },
  ];
}

/** Streams that are open meanwhile, each long enough to see the end of the fault. */
async function openStreams(lifetime: Lifetime) {
  const { world, members } = await FaultWorld.open(lifetime, 2, {}, { maxQueueMs });
  const readers = new StreamReaders(world.front.url, () => world.nextKey('stream'), streamValues);
  await readers.start(streams);
  return { world, members, readers };
}

async function streamsInOutage(lifetime: Lifetime): Promise<readonly SoakRow[]> {
  const { world, readers } = await openStreams(lifetime);
  await world.server.kill();
  await pause(2000);
  await world.server.restart();
  const at = performance.now();
  await until(() => readers.valueAt > at);
  const recoveryMs = readers.valueAt - at;
  await readers.done();
  const counts = countsOf(readers.ended, world.journal(), []);
  return [{ fault: 'streams, nats-server killed, back after 2 s', counts, recoveryMs }];
}

async function streamsOfTheDead(lifetime: Lifetime): Promise<readonly SoakRow[]> {
  const { world, members, readers } = await openStreams(lifetime);
  const at = performance.now();
  process.kill(members[0]?.pid ?? 0, 'SIGKILL');
  await readers.done();
  const ends = readers.ended.filter((one) => !isResult(one)).map((one) => one.at);
  const counts = countsOf(readers.ended, world.journal(), [memberLost]);
  const recoveryMs = ends.length === 0 ? undefined : Math.max(...ends) - at;
  return [{ fault: 'streams, one of two members killed', counts, recoveryMs }];
}

/** In the order of the table. */
export const faults: readonly ((lifetime: Lifetime) => Promise<readonly SoakRow[]>)[] = [
  serverKilled(0.3),
  serverKilled(2),
  serverKilled(5),
  fault('nats-server stands still for 15 s', 2, [overloaded], async (world) => {
    await world.server.pause();
    await pause(15_000);
    world.server.resume();
    return firstAfter(world.callers, performance.now());
  }),
  fault('one of three members killed', 3, [memberLost], async (world, [member]) => {
    const at = performance.now();
    process.kill(member?.pid ?? 0, 'SIGKILL');
    const recoveryMs = await firstAfter(world.callers, at, (one) => isResult(one) && one.from > at);
    await until(() => world.callers.with(-32002).length > 0);
    return recoveryMs;
  }),
  memberStands(1.5, []),
  memberStands(12, [memberLost]),
  fault('a stranger floods NATS', 2, [], async (world) => {
    const count = 40_000;
    const size = { heartbeats: count, gateways: count, hellos: count };
    await flood(world.server.url, { ...size, garbage: 10_000, questions: 10_000 });
    return firstAfter(world.callers, performance.now());
  }),
  fault('rolling deploy of two members', 2, [], deploy),
  fault('last member killed, another one comes', 1, [memberLost, overloaded], lastDies),
  procedureRestarted,
  procedureGone,
  gatewayDies,
  streamsInOutage,
  streamsOfTheDead,
];
