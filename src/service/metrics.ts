import { ProcessGauges } from '../observe/process-gauges.ts';
import { renderMetrics } from '../observe/render.ts';
import type { MetricsSnapshot } from '../observe/snapshot.ts';
import { type ConnectionFigures, type SnapshotSource, snapshotOf } from './take-snapshot.ts';

/** So long a text serves all who ask: scrapers, however many, buy one rendering a second. */
const keptMs = 1000;

/** The figures of a service: kept as plain numbers, rendered when somebody asks. */
export class Metrics {
  readonly #source: Omit<SnapshotSource, 'processGauges' | 'connections'>;
  readonly #gauges = new ProcessGauges();
  #bytes: Promise<Buffer> | undefined;
  #forgetting: NodeJS.Timeout | undefined;
  /** Names this process among those of its service. */
  process = '0';
  /** Asked for what only the server knows, where one listens. */
  connections: (() => ConnectionFigures) | undefined;
  /** The figures of all processes of the service, where it has more than this one. */
  collect: () => Promise<readonly MetricsSnapshot[]> = async () => [this.snapshot()];

  constructor(source: Omit<SnapshotSource, 'processGauges' | 'connections'>) {
    this.#source = source;
  }

  /** Samples from now on what has to be sampled. */
  start(): void {
    this.#gauges.start();
  }

  /** Of this process, as they are now. */
  snapshot(): MetricsSnapshot {
    const { observation, poolCounters, bodies, replies, serving } = this.#source;
    return snapshotOf(this.process, {
      observation,
      poolCounters,
      bodies,
      replies,
      serving,
      processGauges: this.#gauges,
      connections: this.connections?.(),
    });
  }

  /** In the text format of Prometheus, UTF-8: as it was at some time of the last second, the same for all who ask. */
  bytes(): Promise<Buffer> {
    this.#bytes ??= this.#render();
    return this.#bytes;
  }

  /** The same as text. */
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
      // From the end of the rendering on: two never go on at the same time.
      this.#forgetting = setTimeout(() => this.#forget(), keptMs).unref();
    }
  }

  #forget(): void {
    clearTimeout(this.#forgetting);
    this.#bytes = undefined;
  }
}
