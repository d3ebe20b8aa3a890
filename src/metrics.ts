import type { Observation } from './observation.ts';
import { ProcessGauges } from './observe/process-gauges.ts';
import { loadRenderer, renderMetrics } from './observe/render.ts';
import type { MetricsSnapshot } from './observe/snapshot.ts';
import type { PoolCounters } from './pool/stats.ts';
import type { Serving } from './serving.ts';
import { type ConnectionFigures, snapshotOf } from './snapshot.ts';

/** The figures of a service: kept as plain numbers, rendered when somebody asks. */
export class Metrics {
  readonly #observation: Observation;
  readonly #poolCounters: PoolCounters;
  readonly #serving: Serving;
  readonly #gauges = new ProcessGauges();
  /** Names this process among those of its service. */
  process = '0';
  /** Asked for what only the server knows, where one listens. */
  connections: (() => ConnectionFigures) | undefined;
  /** The figures of all processes of the service, where it has more than this one. */
  collect: () => Promise<readonly MetricsSnapshot[]> = async () => [this.snapshot()];

  constructor(
    {
      observation,
      poolCounters,
    }: { readonly observation: Observation; readonly poolCounters: PoolCounters },
    serving: Serving,
  ) {
    this.#observation = observation;
    this.#poolCounters = poolCounters;
    this.#serving = serving;
  }

  /** Of this process, as they are now. */
  snapshot(): MetricsSnapshot {
    return snapshotOf(this.process, {
      observation: this.#observation,
      poolCounters: this.#poolCounters,
      serving: this.#serving,
      processGauges: this.#gauges,
      connections: this.connections?.(),
    });
  }

  /** In the text format of Prometheus. */
  async text(): Promise<string> {
    return renderMetrics(await this.collect());
  }

  /** Makes the first `text()` as quick as the others. */
  async prepare(): Promise<void> {
    await loadRenderer();
  }

  close(): void {
    this.#gauges.close();
  }
}
