import { messageOf } from '../core/base/message-of.ts';
import type { Config } from '../core/config/config.ts';
import { createLog, type Log, type LogLevel, maxLogBytesPerSecond } from '../core/observe/log.ts';
import { residentMemory } from '../core/observe/process-gauges.ts';
import type { MetricsSnapshot } from '../core/observe/snapshot.ts';
import { RpcApp } from '../server/app/app.ts';
import { hooksOf } from '../server/app/hooks.ts';
import { openFilesAdvice } from '../server/app/open-files.ts';
import { freePorts } from '../server/http/edge/http-server.ts';
import { takesUws } from '../server/http/listen.ts';
import { loadUws } from '../server/http/uws/load.ts';
import { carryOut } from '../server/supervisor/admin/orders.ts';
import type { Guard } from '../server/supervisor/guard-thread.ts';
import type { ReloadOutcome, StartOrder } from '../server/supervisor/messages.ts';
import type { SupervisorChannel } from '../server/supervisor/supervisor-channel.ts';
import { bannerOf } from './banner.ts';
import { failureOf } from './exit.ts';
import { profilerOf } from './profiler.ts';
import { surviveFaults } from './survive-faults.ts';

/**
 * How often the supervisor is told this process's figures: half of the shortest `watchdogTimeoutMs`, by which the
 * supervisor must have heard of them.
 */
const figuresMs = 1000;

let channel: SupervisorChannel;
let app: RpcApp | undefined;
let isReady = false;
let isStopping = false;

/**
 * Serves what a supervisor ordered, until the supervisor says otherwise or has gone. One service for each process.
 *
 * @throws whatever kept the service from starting; the supervisor has not been told
 */
export async function serveAsOrdered(
  order: StartOrder,
  supervisor: SupervisorChannel,
  guard: Guard,
): Promise<void> {
  channel = supervisor;
  // No second signal forces an exit here: the supervisor counts signals. One signal may come twice, from the
  // supervisor and from a terminal or cgroup that signals all processes.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop());
  process.on('SIGHUP', () => {});
  channel.onLost(() => void stop());
  try {
    await start(order, guard);
  } catch (error) {
    // A signal during the start makes the start fail. The failure is not reported then.
    if (!isStopping) throw error;
  }
}

async function start(order: StartOrder, guard: Guard): Promise<void> {
  const { of, isFirst, modules, config, version } = order;
  const log = createLog({
    level: config.logLevel,
    maxBytesPerSecond: maxLogBytesPerSecond / of,
    ...(of > 1 && { base: { process: order.number } }),
  });
  log.open();
  // Processes of one service pass a Unix socket on, whichever server they have.
  const isOnSocketAlone = config.socket !== '' && config.metricsPort === 'same';
  const sharesPort = of > 1 || isOnSocketAlone || (await canSharePort(config));
  if (isStopping) return;
  const hooks = await hooksOf(config);
  if (isStopping) return;
  surviveFaults(log, (message) => channel.failed({ message, stack: undefined }));
  app = new RpcApp({
    modules,
    ...config,
    ...hooks,
    codegen: '',
    log: isFirst ? log : withoutStartNotes(log),
  });
  const { metrics } = app.dispatcher;
  if (metrics !== undefined) {
    metrics.process = String(order.number);
    metrics.collect = async () => (await channel.collectAll()) ?? [metrics.snapshot()];
  }
  // Ready comes before listening: the system must give connections only to a process that answers at once.
  await app.dispatcher.ready();
  if (config.codegen !== '' && order.number === 1) {
    const { keepServed } = await import('./tools/codegen.ts');
    await keepServed(app.router, config.codegen, log, isFirst);
  }
  if (isFirst && sharesPort) await freePorts(config);
  const address = await app.listen({ sharedPort: sharesPort });
  isReady = true;
  const told = bannerOf(app, address, { modules, config, version }, hooks);
  const { dispatcher } = app;
  const setLevel = (level: LogLevel): void => {
    log.setLevel(level);
    guard.setLevel(level);
  };
  const operated = { dispatcher, guard, setLevel, profile: profilerOf(dispatcher) };
  channel.ready(
    { ...told, sharesPort },
    {
      reload,
      expectReload: (isComing) => dispatcher.expectReload(isComing),
      collect: counted,
      order: (given, left) => carryOut(operated, given, left),
    },
  );
  guard.watch();
  setInterval(tellFigures, figuresMs).unref();
}

/** If the port can't be shared, a new process has to wait until the old one has let go of the port. */
async function canSharePort({ transport, host }: Config): Promise<boolean> {
  if (process.platform !== 'linux' || transport === 'node') return false;
  return takesUws(await loadUws(), transport, host);
}

/** Events at level info that say the same of each process. */
const startEvents = new Set<unknown>(['returns-missing', 'pattern-limits', 'transport']);

/** Drops the notes about the start and about the modules: the first process of the service has logged them. */
function withoutStartNotes(log: Log): Log {
  return {
    ...log,
    info: (fields, message) => void (!startEvents.has(fields.event) && log.info(fields, message)),
    warn: (fields, message) => void (isReady && log.warn(fields, message)),
  };
}

function counted(): MetricsSnapshot | undefined {
  return app?.dispatcher.metrics?.snapshot();
}

async function reload(): Promise<ReloadOutcome> {
  try {
    return { changed: (await app?.reload()) ?? false };
  } catch (error) {
    return { error: openFilesAdvice(messageOf(error)) };
  }
}

function tellFigures(): void {
  channel.figures({ zombies: zombies(), rssBytes: residentMemory() });
}

function zombies(): number {
  if (app === undefined) return 0;
  const { pool, groups } = app.dispatcher.stats();
  return [pool, ...Object.values(groups)].reduce((sum, one) => sum + (one?.zombies ?? 0), 0);
}

async function stop(): Promise<void> {
  if (isStopping) return;
  isStopping = true;
  tellFigures();
  try {
    await app?.close();
  } catch (error) {
    await channel.failed(failureOf(error));
    process.exit(1);
  }
  await channel.drained(counted());
  // A thread in native code would keep the process from ending, and nobody may be left to end it. So the process
  // kills itself, after its listeners for `exit` have run.
  if (!process.connected || zombies() > 0) {
    process.once('exit', () => process.kill(process.pid, 'SIGKILL'));
  }
  process.exit(0);
}
