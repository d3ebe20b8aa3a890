import { EventEmitter, once } from 'node:events';
import { Agent, request } from 'node:http';

/** How one call ended: with an answer, or with an error of its connection. */
export interface Ended {
  readonly n: number;
  readonly result?: { readonly n: number; readonly pid: number };
  readonly error?: { readonly code: number; readonly data?: { readonly reason?: string } };
  /** The id of the answer. */
  readonly id?: unknown;
  /** ECONNRESET and the like. */
  readonly failure?: string;
}

type Body = Pick<Ended, 'id' | 'result' | 'error'>;

/** The numbers of calls are unique in this process, whichever load they are of. */
let calls = 0;

/** One request. Gives the parsed answer, or the code of the connection's error. */
export function ask(
  url: string,
  payload: unknown,
  agent: Agent | false = false,
): Promise<{ body: unknown } | { failure: string }> {
  return new Promise((resolve) => {
    const post = request(url, {
      method: 'POST',
      agent,
      headers: { 'content-type': 'application/json' },
    });
    const fail = (error: Error): void =>
      resolve({ failure: 'code' in error ? String(error.code) : error.message });
    post.on('error', fail);
    post.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('error', fail);
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => resolve({ body: JSON.parse(text) as unknown }));
    });
    post.end(JSON.stringify(payload));
  });
}

/** The result of one call. */
export async function call(url: string, method: string, params: object = {}): Promise<unknown> {
  const answer = await ask(url, { id: 1, method, params });
  if ('failure' in answer) throw new Error(answer.failure);
  return (answer.body as { result: unknown }).result;
}

/**
 * How a connection to a process that goes may end. The system says EPIPE instead of ECONNRESET where the process had
 * closed the connection before the request came.
 */
const resets: readonly string[] = ['ECONNRESET', 'EPIPE'];

/** The process that a new connection meets. One to a process that is going may be reset. */
export async function where(url: string): Promise<number> {
  for (;;) {
    const answer = await ask(url, { id: 1, method: 'where' });
    if ('body' in answer) return (answer.body as { result: number }).result;
    if (!resets.includes(answer.failure)) throw new Error(answer.failure);
  }
}

/** Those that new connections meet, all of them. */
export async function pids(url: string, count: number): Promise<number[]> {
  const found = new Set<number>();
  while (found.size < count) found.add(await where(url));
  return [...found];
}

/** Callers that call without a pause: half of them keep their connection, half open one per call. */
export class Load {
  readonly ended: Ended[] = [];
  readonly #url: string;
  readonly #keepsHalf: boolean;
  readonly #changed = new EventEmitter();
  readonly #loops: Promise<void>[];
  #isStopping = false;

  /** @param keepsHalf false: all of them open a connection per call */
  constructor(url: string, callers: number, keepsHalf = true) {
    this.#url = url;
    this.#keepsHalf = keepsHalf;
    this.#loops = Array.from({ length: callers }, (_, i) => this.#loop(i));
  }

  /** The first `count` that satisfy it, of what ends from now on. */
  async next(satisfies: (ended: Ended) => boolean, count = 1): Promise<Ended[]> {
    const found: Ended[] = [];
    for (let i = this.ended.length; found.length < count; i++) {
      while (i >= this.ended.length) await once(this.#changed, 'ended');
      const ended = this.ended[i] as Ended;
      if (satisfies(ended)) found.push(ended);
    }
    return found;
  }

  /** Ends when every call that was sent has. */
  async stop(): Promise<readonly Ended[]> {
    this.#isStopping = true;
    await Promise.all(this.#loops);
    return this.ended;
  }

  async #loop(index: number): Promise<void> {
    const keeps = this.#keepsHalf && index % 2 === 0;
    const agent = keeps ? new Agent({ keepAlive: true, maxSockets: 1 }) : false;
    while (!this.#isStopping) {
      // Every fourth caller sends batches.
      const size = index % 4 === 3 ? 5 : 1;
      const numbers = Array.from({ length: size }, () => ++calls);
      const ended = await this.#send(numbers, agent);
      this.ended.push(...ended);
      this.#changed.emit('ended');
      if (ended[0]?.failure === 'ECONNREFUSED') break; // nobody is there
    }
    if (agent !== false) agent.destroy();
  }

  async #send(numbers: readonly number[], agent: Agent | false): Promise<Ended[]> {
    const requests = numbers.map((n) => ({
      id: n,
      method: n % 2 === 0 ? 'inline' : 'pooled',
      params: { n },
    }));
    const answer = await ask(this.#url, requests.length === 1 ? requests[0] : requests, agent);
    if ('failure' in answer) return numbers.map((n) => ({ n, failure: answer.failure }));
    const bodies = Array.isArray(answer.body) ? (answer.body as Body[]) : [answer.body as Body];
    if (bodies.length !== numbers.length) return numbers.map((n) => ({ n, failure: 'unanswered' }));
    return numbers.map((n, i) => ({ n, ...bodies[i] }));
  }
}

/** What is wrong with it, as one line: an answer that is no result, or not this call's own. */
export function wrongAnswer({ n, id, result, error, failure }: Ended): string | undefined {
  if (failure !== undefined) return undefined;
  if (error !== undefined) return `call ${n}: ${JSON.stringify(error)}`;
  return id === n && result?.n === n ? undefined : `call ${n}: the answer of call ${String(id)}`;
}

/** The connection errors among them, each once. */
export function failuresOf(some: readonly Ended[]): string[] {
  return [...new Set(some.flatMap(({ failure }) => failure ?? []))].sort();
}

/** The connection errors of those that found nobody, or got no whole answer: not of those that a process reset as it went. */
export function failuresButResetsOf(some: readonly Ended[]): string[] {
  return failuresOf(some).filter((code) => !resets.includes(code));
}

export function pidsOf(some: readonly Ended[]): number[] {
  return [...new Set(some.flatMap(({ result }) => result?.pid ?? []))];
}
