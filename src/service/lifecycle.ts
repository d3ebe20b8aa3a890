import { clockMs } from '../base/clock.ts';
import { StartupError } from '../base/startup-error.ts';
import { assertMainSide } from '../base/thread-role.ts';
import { closedRouting } from '../dispatch/closed-executor.ts';
import type { Routing } from '../dispatch/routing.ts';
import type { ServiceState } from '../dispatch/service.ts';
import { OpenStreams } from '../dispatch/streams/open-streams.ts';
import type { LoadedService } from './loaded-service.ts';
import type { Parts } from './parts.ts';

/** A service from its start to its end. */
export class Lifecycle {
  readonly #parts: Parts;
  #isReady = false;
  #isDraining = false;
  #isClosed = false;
  #starting: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  /** Answers what comes when nothing serves any more. */
  #ended: Routing | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  get state(): ServiceState {
    if (this.#isClosed) return 'closed';
    if (this.#isDraining) return 'draining';
    if (!this.#isReady) return 'starting';
    return this.#parts.cluster?.state ?? 'ready';
  }

  /** Whether the start has ended well, once: calls have a routing from then on, after the end too. */
  get isReady(): boolean {
    return this.#isReady;
  }

  /** Whether a request has to wait for the start. */
  get isBeforeStart(): boolean {
    return !this.#isReady && this.#closing === undefined;
  }

  /**
   * Who runs the calls now.
   *
   * @throws Error before `isReady`
   */
  routing(): Routing {
    const routing = this.#parts.serving.current ?? this.#ended;
    if (routing === undefined) throw new Error('a call came before the start');
    return routing;
  }

  #endedRouting(table: LoadedService['table']): Routing {
    const { config, deadlines, observation } = this.#parts;
    const streams = new OpenStreams(config, deadlines, { open: 0 }, observation);
    return closedRouting(table, streams, observation);
  }

  /** See Dispatcher.ready. */
  start(): Promise<void> {
    this.#starting ??= this.#start();
    return this.#starting;
  }

  drain(): void {
    this.#isDraining = true;
  }

  /** See Dispatcher.close. */
  close(graceMs: number): Promise<void> {
    this.#closing ??= this.#close(graceMs);
    return this.#closing;
  }

  async #start(): Promise<void> {
    assertMainSide('start a Dispatcher');
    this.#assertOpen();
    const { ownLog, metrics, watch, cluster, serving } = this.#parts;
    ownLog?.open();
    metrics?.start();
    watch.start();
    // The modules load in this same turn where nothing comes before them: `close` can give their loading up.
    if (cluster !== undefined) {
      await cluster.connect();
      this.#assertOpen();
    }
    await serving.start();
    this.#isReady = true;
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new StartupError('the dispatcher is closed');
  }

  async #close(graceMs: number): Promise<void> {
    const until = clockMs() + graceMs;
    const { serving } = this.#parts;
    const loaded = serving.current;
    this.#isDraining = true;
    if (loaded !== undefined) {
      await Promise.all([serving.idle(graceMs), serving.endStreams(graceMs)]);
      this.#ended = this.#endedRouting(loaded.table);
    }
    const ended = serving.close(Math.max(0, until - clockMs()));
    const { deadlines, observation, bodies, watch, blockers, metrics } = this.#parts;
    deadlines.close();
    const left = this.#parts.cluster?.close(Math.max(0, until - clockMs()));
    try {
      await Promise.all([ended, left]);
    } finally {
      this.#isClosed = true;
      bodies.close();
      observation.close();
      watch.close();
      blockers.close();
      metrics?.close();
    }
  }
}
