import { outcomeOf, type Plan } from '../plans.ts';
import type { SoakRow, Tally } from './tally.ts';

/** A stream that is asked for. */
export interface StreamPlan extends Plan {
  readonly params: Plan['params'] & { readonly count: number; readonly pad: number };
}

/** What comes of a stream, over whatever it comes. */
export interface StreamMessage {
  readonly id?: unknown;
  readonly result?: unknown;
  readonly error?: StreamError;
  readonly method?: string;
  readonly params?: {
    readonly subscription?: unknown;
    readonly result?: unknown;
    readonly error?: StreamError;
  };
}

interface StreamError {
  readonly code: number;
  readonly data?: { readonly reason?: string };
}

/** A lost thread and a reload end streams; nothing else here does. */
const allowed = /^(?:ok|-32000|-32002 (?:exit|memory|error|neighbour)|-32003 (?:reload|recycle))$/;

/** Holds what comes of one stream against what may: its own values, in order, then one end that says why. */
export class StreamReader {
  readonly plan: StreamPlan;
  readonly #tally: Tally;
  values = 0;
  #isOver = false;

  constructor(plan: StreamPlan, tally: Tally, row: SoakRow) {
    this.plan = plan;
    this.#tally = tally;
    tally.begin(plan, row);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  value(given: unknown): void {
    const { n, i } = given as { readonly n: number; readonly i: number };
    const { params } = this.plan;
    if (this.#isOver || n !== params.n || i !== this.values) {
      const where = this.#isOver ? 'behind the end' : `where value ${this.values} was due`;
      this.#tally.crossed(this.plan, `stream ${params.n}: value ${i} of ${n} ${where}`);
    }
    this.values++;
  }

  end({ result, error }: Pick<StreamMessage, 'result' | 'error'>): void {
    const { plan } = this;
    const { n, nonce, count } = plan.params;
    if (this.#isOver) this.#tally.crossed(plan, `stream ${n}: a second end`);
    this.#isOver = true;
    if (error !== undefined) {
      const outcome = outcomeOf(error.code, error.data?.reason);
      this.#tally.answered(plan, outcome, allowed.test(outcome));
      // A generator begins with its first value.
      if (this.values === 0 && outcome !== '-32000') this.#tally.maybeBegun(plan);
      return;
    }
    const end = result as { readonly nonce?: unknown; readonly count?: unknown } | null;
    if (end?.nonce !== nonce || end.count !== count || this.values !== count) {
      this.#tally.crossed(
        plan,
        `stream ${n}: ${this.values} of ${count} values, then ${JSON.stringify(result)}`,
      );
    }
    this.#tally.answered(plan, 'ok', true);
  }

  /** Its reader has gone: no end is due. */
  left(): void {
    this.#isOver = true;
  }

  lost(why: string): void {
    this.#isOver = true;
    this.#tally.lost(this.plan, why);
  }
}
