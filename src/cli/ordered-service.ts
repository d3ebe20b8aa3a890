import { RpcApp } from '../app/app.ts';
import { hooksOf } from '../app/hooks.ts';
import { openFilesAdvice } from '../app/open-files.ts';
import { coresHere } from '../config/cores.ts';
import { loadUws } from '../http/uws/load.ts';
import { createLog, type Log } from '../observe/log.ts';
import { residentMemory } from '../observe/resident-memory.ts';
import type { MetricsSnapshot } from '../observe/snapshot.ts';
import { freePorts } from '../supervisor/free-ports.ts';
import type { ReloadOutcome, StartOrder } from '../supervisor/messages.ts';
import type { SupervisorLink } from '../supervisor/supervisor-channel.ts';
import { banner } from './banner.ts';
import { failureOf } from './failure.ts';
import { surviveFaults } from './survive-faults.ts';

/** Half of the shortest `watchdogTimeoutMs`, which has to hear of them. */
const figuresMs = 1000;

let link: SupervisorLink;
let app: RpcApp | undefined;
let isReady = false;
let isStopping = false;

/**
 * Serves what a supervisor ordered, until that says otherwise or has gone. One service for each process.
 *
 * @throws whatever kept it from starting; the supervisor has not been told
 */
export async function serveAsOrdered(order: StartOrder, supervisor: SupervisorLink): Promise<void> {
  link = supervisor;
  // The supervisor counts signals. One may come twice: from it, and from a terminal or a cgroup to all.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop());
  process.on('SIGHUP', () => {});
  link.onLost(() => void stop());
  try {
    await start(order);
  } catch (error) {
    // A signal during the start makes it fail: that is no failure.
    if (!isStopping) throw error;
  }
}

async function start(order: StartOrder): Promise<void> {
  const { of, isFirst, modules, config, version } = order;
  const { processes, workers } = config;
  const log = createLog({
    level: config.logLevel,
    ...(of > 1 && { base: { process: order.number } }),
  });
  log.open();
  const sharesPort = of > 1 || (await canSharePort(config.transport));
  if (isStopping) return;
  const hooks = await hooksOf(config);
  if (isStopping) return;
  surviveFaults(log, (message) => link.failed({ message, stack: undefined }));
  app = new RpcApp({ modules, ...config, ...hooks, log: isFirst ? log : withoutStartNotes(log) });
  const { metrics } = app.dispatcher;
  if (metrics !== undefined) {
    metrics.process = String(order.number);
    metrics.collect = async () => (await link.collectAll()) ?? [metrics.snapshot()];
  }
  // Before it listens, so that only a process that answers at once is given connections.
  await app.dispatcher.ready();
  if (isFirst && sharesPort) await freePorts(config);
  const { url } = await app.listen({ sharedPort: sharesPort });
  isReady = true;
  const authenticates = hooks.authenticate !== undefined;
  const text = banner(app, { url, version, processes, workers, cores: coresHere(), authenticates });
  link.ready({ banner: text, sharesPort }, { reload, collect: counted });
  setInterval(tellFigures, figuresMs).unref();
}

/** Elsewhere a successor has to wait until its predecessor has let go of the port. */
async function canSharePort(transport: string): Promise<boolean> {
  if (process.platform !== 'linux' || transport === 'node') return false;
  return (await loadUws()).uws !== undefined;
}

/** What an operator should know at the start is told by the first process. */
function withoutStartNotes(log: Log): Log {
  return { ...log, warn: (fields, message) => void (isReady && log.warn(fields, message)) };
}

function counted(): MetricsSnapshot | undefined {
  return app?.dispatcher.metrics?.snapshot();
}

async function reload(): Promise<ReloadOutcome> {
  try {
    return { changed: (await app?.reload()) ?? false };
  } catch (error) {
    return { error: openFilesAdvice(error instanceof Error ? error.message : String(error)) };
  }
}

function tellFigures(): void {
  link.figures({ zombies: zombies(), rssBytes: residentMemory() });
}

function zombies(): number {
  return app?.dispatcher.stats().pool?.zombies ?? 0;
}

async function stop(): Promise<void> {
  if (isStopping) return;
  isStopping = true;
  try {
    await app?.close();
  } catch (error) {
    await link.failed(failureOf(error));
    process.exit(1);
  }
  await link.drained(counted());
  // A thread in native code would keep the process, and nobody may be left who would end it: this ends it, once those
  // who listen for its exit have been told.
  if (!process.connected || zombies() > 0) {
    process.once('exit', () => process.kill(process.pid, 'SIGKILL'));
  }
  process.exit(0);
}
