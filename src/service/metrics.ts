import { ProcessGauges } from '../observe/process-gauges.ts';
import { renderMetrics } from '../observe/render.ts';
import type { MetricsSnapshot } from '../observe/snapshot.ts';
import { type ConnectionFigures, type SnapshotSource, snapshotOf } from './take-snapshot.ts';

/** How long one rendered text serves all who ask: any number of scrapers cost one rendering a second. */
const keptMs = 1000;

/** The figures of a service: kept as plain numbers, and rendered when somebody asks. */
export class Metrics {
  readonly #source: Omit<SnapshotSource, 'processGauges' | 'connections'>;
  readonly #gauges = new ProcessGauges();
  #bytes: Promise<Buffer> | undefined;
  #forgetting: NodeJS.Timeout | undefined;
  /** The name of this process among the processes of its service. */
  process = '0';
  /** Gives the figures that only the server knows; undefined where no server listens. */
  connections: (() => ConnectionFigures) | undefined;
  /** Gives the figures of all processes of the service. The default is this process alone. */
  collect: () => Promise<readonly MetricsSnapshot[]> = async () => [this.snapshot()];

  constructor(source: Omit<SnapshotSource, 'processGauges' | 'connections'>) {
    this.#source = source;
  }

  /** Starts the sampling of figures that must be sampled, such as the delay of the event loop. */
  start(): void {
    this.#gauges.start();
  }

  /** The figures of this process as they are now. */
  snapshot(): MetricsSnapshot {
    const { observation, poolCounters, bodies, replies, serving, blockers, cluster } = this.#source;
    return snapshotOf(this.process, {
      observation,
      poolCounters,
      bodies,
      replies,
      serving,
      blockers,
      cluster,
      processGauges: this.#gauges,
      connections: this.connections?.(),
    });
  }

  /**
   * The figures in the text format of Prometheus, UTF-8: as they were at some time of the last second, the same bytes
   * for all who ask.
   */
  bytes(): Promise<Buffer> {
    this.#bytes ??= this.#render();
    return this.#bytes;
  }

  /** The same text as a string. */
  async text(): Promise<string> {
    return (await this.bytes()).toString();
  }

  close(): void {
    this.#gauges.close();
    this.#forget();
  }

  async #render(): Promise<Buffer> {
    try {
      return await renderMetrics(await this.collect());
    } finally {
      // The time is counted from the end of the rendering: a second rendering can't begin while this one goes on.
      this.#forgetting = setTimeout(() => this.#forget(), keptMs).unref();
    }
  }

  #forget(): void {
    clearTimeout(this.#forgetting);
    this.#bytes = undefined;
  }
}
