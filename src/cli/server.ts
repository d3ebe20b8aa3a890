import { messageOf } from '../core/base/message-of.ts';
import { ownVersion } from '../core/base/package-files.ts';
import { StartupError } from '../core/base/startup-error.ts';
import { startTimer } from '../core/base/timer.ts';
import type { Config } from '../core/config/config.ts';
import {
  createLog,
  type Log,
  type LogLevel,
  maxLogBytesPerSecond,
  type OwnLog,
} from '../core/observe/log.ts';
import { residentMemory } from '../core/observe/process-gauges.ts';
import type { MetricsSnapshot } from '../core/observe/snapshot.ts';
import { RpcApp } from '../server/app/app.ts';
import { hooksOf } from '../server/app/hooks.ts';
import { openFilesAdvice } from '../server/app/open-files.ts';
import { freePorts } from '../server/http/edge/http-server.ts';
import { takesUws } from '../server/http/listen.ts';
import { loadUws } from '../server/http/uws/load.ts';
import type { ReadyReport, ReloadOutcome, StartOrder } from '../server/process/channel.ts';
import type { SupervisorLink } from '../server/process/child.ts';
import { Guard } from '../server/process/guard.ts';
import {
  type Answer,
  carryOut,
  type Operated,
  type Order,
  type Outcome,
  refusalOf,
} from '../server/process/orders.ts';
import type { SupervisorOptions } from '../server/process/supervisor.ts';
import { bannerOf } from './banner.ts';
import { fail, failureOf } from './exit.ts';
import { surviveFaults } from './survive-faults.ts';

/**
 * How often the supervisor is told this process's figures: half of the shortest `watchdogTimeoutMs`, by which the
 * supervisor must have heard of them.
 */
const figuresMs = 1000;

/** A service in this process, which nobody restarts. */
export function serverHere({
  log,
  ...service
}: Omit<SupervisorOptions, 'log'> & { readonly log: OwnLog }) {
  const { config } = service;
  const guard = new Guard({ ...config, supervised: undefined, base: {} });
  const server = new Server({ ...service, number: 1, of: 1, isFirst: true }, log, guard);
  let limit: NodeJS.Timeout | undefined;
  return {
    async start(): Promise<ReadyReport | undefined> {
      // As a supervisor does with its processes. The workers have a time limit of their own; what this thread loads has none.
      const limitMs = 2 * config.startTimeoutMs;
      limit = startTimer(limitMs, () => {
        const why = `not ready after ${limitMs} ms: look for a module that waits at its top level, or raise startTimeoutMs`;
        fail(new StartupError(why));
      });
      const report = await server.start();
      clearTimeout(limit);
      return report;
    },
    async stop(): Promise<boolean> {
      clearTimeout(limit);
      await server.close();
      return true;
    },
    kill(): void {},
    async reload(): Promise<void> {
      const outcome = await server.reload();
      if ('error' in outcome)
        log.error(
          { event: 'reload-failed' },
          `not reloaded, the modules serve as they were: ${outcome.error}`,
        );
      else if (!outcome.changed)
        log.info({ event: 'reload-unchanged' }, 'not reloaded: nothing has changed');
    },
    async *order(order: Order, left: AbortSignal): AsyncGenerator<Answer> {
      const about = { process: 1, pid: process.pid };
      yield refusalOf(order, 1) ?? { ...about, ...(await server.order(order, left)) };
    },
  };
}

/**
 * Serves what a supervisor ordered, until the supervisor says otherwise or has gone. One service for each process.
 *
 * @throws whatever kept the service from starting; the supervisor has not been told
 */
export async function serveAsOrdered(order: StartOrder, link: SupervisorLink): Promise<void> {
  const { number, of, config } = order;
  const { shutdownGraceMs: graceMs, logLevel: level } = config;
  const base = of > 1 ? { process: number } : {};
  const guard = new Guard({ ...config, supervised: { key: link.key, graceMs }, base });
  const log = createLog({ level, base, maxBytesPerSecond: maxLogBytesPerSecond / of });
  log.open();
  const server = new Server(order, log, guard, link);
  const tellFigures = (): void => {
    const figures = { zombies: server.zombies(), rssBytes: residentMemory() };
    void link.tell({ type: 'figures', figures });
  };
  let isStopping = false;
  const stop = async (): Promise<void> => {
    if (isStopping) return;
    isStopping = true;
    tellFigures();
    try {
      await server.close();
    } catch (error) {
      await link.failed(failureOf(error));
      process.exit(1);
    }
    await link.tell({ type: 'drained', snapshot: await server.collect() });
    // A thread in native code would keep the process from ending, and nobody may be left to end it. So the process
    // kills itself, after its listeners for `exit` have run.
    if (!process.connected || server.zombies() > 0) {
      process.once('exit', () => process.kill(process.pid, 'SIGKILL'));
    }
    process.exit(0);
  };
  // No second signal forces an exit here: the supervisor counts signals. One signal may come twice, from the
  // supervisor and from a terminal or cgroup that signals all processes.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop());
  process.on('SIGHUP', () => {});
  link.onLost(() => void stop());
  const report = await server.start();
  if (report === undefined) return;
  link.onMessage = (message, left) => {
    switch (message.type) {
      case 'reload':
        return server.reload();
      case 'expect-reload':
        return server.dispatcher.expectReload(message.isComing);
      case 'order':
        return server.order(message.order, left);
      case 'collect':
        return server.collect();
      case 'start':
        return undefined;
    }
  };
  void link.tell({ type: 'ready', report });
  setInterval(tellFigures, figuresMs).unref();
}

/** A service in this process, with a supervisor or without. */
class Server implements Operated {
  readonly #order: StartOrder;
  readonly #log: OwnLog;
  readonly #link: SupervisorLink | undefined;
  readonly guard: Guard;
  /** What its metrics hold can be read by the supervisor. */
  readonly #isSameVersion: boolean;
  #app: RpcApp | undefined;
  #isReady = false;
  #isClosing = false;

  /** @param link undefined: there is no supervisor */
  constructor(order: StartOrder, log: OwnLog, guard: Guard, link?: SupervisorLink) {
    this.#order = order;
    this.#log = log;
    this.guard = guard;
    this.#link = link;
    this.#isSameVersion = order.version === ownVersion();
  }

  /** Loads the modules and listens. Resolves with undefined if the service was closed meanwhile, which makes the start fail. */
  async start(): Promise<ReadyReport | undefined> {
    try {
      return await this.#start();
    } catch (error) {
      if (this.#isClosing) return undefined;
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#app?.close();
  }

  get dispatcher(): RpcApp['dispatcher'] {
    return this.#served.dispatcher;
  }

  setLevel(level: LogLevel): void {
    this.#log.setLevel(level);
    this.guard.setLevel(level);
  }

  async profile(...[order, left]: Parameters<Operated['profile']>): Promise<unknown> {
    // On demand: few services are ever profiled.
    const { takeProfile } = await import('../extras/insight/profile.ts');
    return takeProfile(this.dispatcher.profiled, order, left);
  }

  async reload(): Promise<ReloadOutcome> {
    try {
      return { changed: await this.#served.reload() };
    } catch (error) {
      return { error: openFilesAdvice(messageOf(error)) };
    }
  }

  async collect(): Promise<MetricsSnapshot | undefined> {
    return this.#isSameVersion ? this.#app?.dispatcher.metrics?.read() : undefined;
  }

  order(order: Order, left: AbortSignal): Promise<Outcome> {
    return carryOut(this, order, left);
  }

  /** Threads in native code, which only the end of the process ends. */
  zombies(): number {
    if (this.#app === undefined) return 0;
    const { pool, groups } = this.dispatcher.stats();
    return [pool, ...Object.values(groups)].reduce((sum, one) => sum + (one?.zombies ?? 0), 0);
  }

  get #served(): RpcApp {
    if (this.#app === undefined) throw new Error('the service has not started');
    return this.#app;
  }

  async #start(): Promise<ReadyReport | undefined> {
    const { of, isFirst, number, modules, config, version } = this.#order;
    const log = this.#log;
    const link = this.#link;
    // Processes of one service pass a Unix socket on, whichever server they have.
    const isOnSocketAlone = config.socket !== '' && config.metricsPort === 'same';
    const sharesPort =
      link !== undefined && (of > 1 || isOnSocketAlone || (await canSharePort(config)));
    if (this.#isClosing) return undefined;
    const hooks = await hooksOf(config);
    if (this.#isClosing) return undefined;
    surviveFaults(log, async (message) => link?.failed({ message, stack: undefined }));
    const app = new RpcApp({
      modules,
      ...config,
      ...hooks,
      codegen: '',
      log: isFirst ? log : this.#withoutStartNotes(),
    });
    this.#app = app;
    const { dispatcher } = app;
    const { metrics } = dispatcher;
    if (metrics !== undefined && link !== undefined) {
      metrics.process = String(number);
      if (this.#isSameVersion)
        metrics.collect = async () => {
          const all = await link.ask({ type: 'collect' });
          return (all as readonly MetricsSnapshot[] | undefined) ?? [await metrics.read()];
        };
      else
        log.warn(
          { event: 'process-version-differs', version: ownVersion(), supervisor: version },
          'this process is of another version than its supervisor: its metrics are its own; restart the service',
        );
    }
    // Ready comes before listening: the system must give connections only to a process that answers at once.
    await dispatcher.ready();
    if (config.codegen !== '' && number === 1) {
      const { keepServed } = await import('./tools/codegen.ts');
      await keepServed(app.router, config.codegen, log, isFirst);
    }
    if (isFirst && sharesPort) await freePorts(config);
    const address = await app.listen({ sharedPort: sharesPort });
    this.#isReady = true;
    this.guard.watch();
    return { ...bannerOf(app, address, { modules, config, version }, hooks), sharesPort };
  }

  /** Drops the notes about the start and about the modules: the first process of the service has logged them. */
  #withoutStartNotes(): Log {
    const log = this.#log;
    return {
      ...log,
      info: (fields, message) => void (!startEvents.has(fields.event) && log.info(fields, message)),
      warn: (fields, message) => void (this.#isReady && log.warn(fields, message)),
    };
  }
}

/** Events at level info that say the same of each process. */
const startEvents = new Set<unknown>(['returns-missing', 'pattern-limits', 'transport']);

/** If the port can't be shared, a new process has to wait until the old one has let go of the port. */
async function canSharePort({ transport, host }: Config): Promise<boolean> {
  if (process.platform !== 'linux' || transport === 'node') return false;
  return takesUws(await loadUws(), transport, host);
}
