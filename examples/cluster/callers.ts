/** Callers who book orders at a steady pace, whatever happens, and write down what they saw. */
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';

interface Seen {
  readonly key: string;
  readonly phase: string;
  /** `result`, or the error: `-32002 member`. */
  readonly what: string;
  readonly ms: number;
}

interface Answer {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly data?: { readonly reason?: string } };
}

export class Callers {
  readonly seen: Seen[] = [];
  readonly #url: string;
  readonly #open = new Set<Promise<void>>();
  #phase: string;
  #sent = 0;
  #isOver = false;
  readonly #run: Promise<void>;

  /** @param phase what is answered at first belongs to it */
  constructor(url: string, perSecond: number, phase: string) {
    this.#url = url;
    this.#phase = phase;
    this.#run = this.#send(1000 / perSecond);
  }

  /** What is answered from now on belongs to `phase`. */
  enter(phase: string): void {
    this.#phase = phase;
  }

  /** Sends nothing more. Resolves when everything is answered. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#run;
    await Promise.all(this.#open);
  }

  async #send(everyMs: number): Promise<void> {
    const from = performance.now();
    while (!this.#isOver) {
      const call = this.#call(`order-${this.#sent++}`);
      this.#open.add(call);
      void call.then(() => this.#open.delete(call));
      // By the clock, not by the answers: whoever waits does not keep the others from calling.
      await pause(Math.max(0, from + this.#sent * everyMs - performance.now()));
    }
  }

  async #call(key: string): Promise<void> {
    const from = performance.now();
    const what = await this.#ask(key);
    this.seen.push({ key, phase: this.#phase, what, ms: performance.now() - from });
  }

  async #ask(key: string): Promise<string> {
    try {
      const response = await fetch(this.#url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'rpc-timeout-ms': '20000' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'orders.book', params: { key } }),
      });
      const { error } = (await response.json()) as Answer;
      if (error === undefined) return 'result';
      return [error.code, error.data?.reason].filter((part) => part !== undefined).join(' ');
    } catch (error) {
      return `no answer: ${error instanceof Error ? error.message : String(error)}`;
    }
  }
}

const columns = ['', 'calls', 'results', 'errors', 'p50', 'p99', 'worst'];

/** What callers saw, a line for each phase. */
export function tableOf(seen: readonly Seen[]): string {
  const phases = [...new Set(seen.map(({ phase }) => phase))];
  const rows = phases.map((phase) => {
    const own = seen.filter((one) => one.phase === phase);
    const results = own.filter(({ what }) => what === 'result');
    const times = results.map(({ ms }) => ms).sort((a, b) => a - b);
    const at = (share: number): string =>
      `${Math.round(times[Math.ceil(times.length * share) - 1] ?? 0)} ms`;
    return [
      phase,
      `${own.length}`,
      `${results.length}`,
      errorsOf(own.map(({ what }) => what)),
      at(0.5),
      at(0.99),
      at(1),
    ];
  });
  const widths = columns.map((name, i) =>
    Math.max(name.length, ...rows.map((row) => (row[i] ?? '').length)),
  );
  return [columns, ...rows]
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function errorsOf(whats: readonly string[]): string {
  const errors = whats.filter((what) => what !== 'result');
  const kinds = [...new Set(errors)].map(
    (kind) => `${errors.filter((one) => one === kind).length} x ${kind}`,
  );
  return kinds.join(', ') || '-';
}
