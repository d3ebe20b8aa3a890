import { Agent, request } from 'node:http';
import { orHang } from '../../or-hang.ts';
import { type Ended, type Plan, readAnswer, toRequest } from '../plans.ts';
import type { SoakRow, Tally } from './tally.ts';

interface Answer {
  readonly status: number;
  /** '' where there is none. */
  readonly text: string;
}

/**
 * Whether it refuses a whole request: a body for want of memory (503), a batch of a caller who has taken enough (200), both as
 * one object with the id null (docs/protocol.md).
 */
export function isRefusal({ status, text }: Answer): boolean {
  if (!(status === 503 || status === 200) || !text.startsWith('{"jsonrpc":"2.0","id":null,')) {
    return false;
  }
  const { error } = JSON.parse(text) as {
    error: { code: number; data: { retryAfterMs: number } };
  };
  return error.code === -32_000 && error.data.retryAfterMs > 0;
}

/** Of a connection that was kept: nothing came back on it for this request. */
class ClosedMeanwhile extends Error {}

/** Clients with connections that they keep. */
export class Caller {
  readonly #url: string;
  readonly #tally: Tally;
  readonly #agent: Agent;

  constructor(url: string, tally: Tally, connections: number) {
    this.#url = url;
    this.#tally = tally;
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  /**
   * Sends a call or a batch, and counts each of its calls in its row.
   *
   * @param rowOf the row of each call
   * @param isAllowed whether a call may come to that
   * @param as who calls: the server shares out its workers by it
   * @returns what each call came to; nothing where that is not known
   */
  async send(
    some: readonly Plan[],
    rowOf: (plan: Plan) => SoakRow,
    isAllowed: (plan: Plan, outcome: string) => boolean,
    as = 'anybody',
  ): Promise<readonly string[]> {
    const tally = this.#tally;
    for (const one of some) tally.begin(one, rowOf(one));
    const sent = some.length > 1 ? some : (some[0] as Plan);
    const body = JSON.stringify(some.length > 1 ? some.map(toRequest) : toRequest(sent as Plan));
    let answer: Answer;
    try {
      answer = await orHang('a call', this.#post(body, as));
    } catch (error) {
      for (const one of some) {
        if (error instanceof ClosedMeanwhile) tally.notAccepted(one);
        else tally.lost(one, String(error));
      }
      return [];
    }
    if (isRefusal(answer)) {
      for (const one of some) tally.answered(one, '-32000', true);
      return some.map(() => '-32000');
    }
    let ended: Ended[];
    try {
      if (answer.status !== 200) throw new Error(`HTTP ${answer.status}`);
      ended = readAnswer(sent, answer.text);
    } catch (error) {
      const what = `${String(error)}: ${answer.text.slice(0, 300)}`;
      for (const one of some) tally.crossed(one, what);
      return [];
    }
    for (const { plan, outcome } of ended) tally.answered(plan, outcome, isAllowed(plan, outcome));
    return ended.map(({ outcome }) => outcome);
  }

  /** Calls, and goes before the answer comes. */
  async sendAndGo(one: Plan, row: SoakRow): Promise<void> {
    this.#tally.begin(one, row);
    const caller = new AbortController();
    const answer = this.#post(JSON.stringify(toRequest(one)), 'anybody', caller.signal);
    setTimeout(() => caller.abort(), 2);
    await answer.then(
      () => {
        row.answered++;
      },
      () => {},
    );
  }

  #post(body: string, as: string, signal?: AbortSignal): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const headers = {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        authorization: as,
      };
      const agent = signal === undefined ? this.#agent : false;
      const sent = request(
        this.#url,
        { method: 'POST', agent, headers, ...(signal && { signal }) },
        (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (chunk: string) => {
            text += chunk;
          });
          response.on('error', reject);
          response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
        },
      );
      sent.on('error', (error: NodeJS.ErrnoException) => {
        const isClosed = error.code === 'ECONNRESET' || error.code === 'EPIPE';
        reject(isClosed && sent.reusedSocket ? new ClosedMeanwhile(error.message) : error);
      });
      sent.end(body);
    });
  }

  /** Closes all connections; the next call opens another. */
  end(): void {
    this.#agent.destroy();
  }
}
