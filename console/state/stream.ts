import { type Bytes, eventsOf } from '../../src/client/event-lines.ts';
import { membersOf } from '../json/raw.ts';
import { type Answer, addExchange, changeExchange, type StreamValue } from './exchanges.ts';
import { failureOf } from './failure.ts';
import { post, requestText, toAnswer } from './send.ts';

/** Values that are kept of a stream: the last ones. */
const keptValues = 200;

/** Values are shown at most so often, however fast they come. */
const showEveryMs = 50;

/**
 * Calls a procedure that streams. Its values are kept as they came, to the letter, which the package's own client would parse.
 *
 * @param params JSON text; empty: none
 * @returns the number of the exchange, which goes on
 */
export function openStream(method: string, params: string): number {
  const abort = new AbortController();
  const body = requestText(method, params, 1);
  const number = addExchange({
    title: method,
    kind: 'stream',
    method,
    body,
    stop: () => abort.abort(),
  });
  void read(body, abort.signal, number);
  return number;
}

async function read(body: string, signal: AbortSignal, number: number): Promise<void> {
  const began = performance.now();
  let values: readonly StreamValue[] = [];
  let answer: Answer | undefined;
  const shown = new Throttle(showEveryMs, () => changeExchange(number, { values, answer }));
  const finish = (state: 'done' | 'failed' | 'stopped', reply: string, failure?: string): void => {
    shown.stop();
    const ms = performance.now() - began;
    const bytes = new TextEncoder().encode(reply).length;
    const ended = answer && { ...answer, ms, text: reply, bytes };
    changeExchange(number, { state, values, answer: ended, failure, stop: undefined });
  };
  try {
    const response = await post(body, signal, 'text/event-stream, application/json');
    answer = toAnswer(response, '', performance.now() - began);
    const { body: bytes } = response;
    const isOpen = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
    if (!isOpen || bytes === null) {
      finish('done', await response.text());
      return;
    }
    for await (const text of eventsOf(bytes as Bytes)) {
      const given = membersOf(membersOf(text)?.get('params') ?? '');
      if (given === undefined) {
        finish('done', text);
        return;
      }
      const next = {
        number: (values.at(-1)?.number ?? 0) + 1,
        ms: performance.now() - began,
        text: given.get('result') ?? 'null',
      };
      values = [...values.slice(1 - keptValues), next];
      shown.ask();
    }
    finish('failed', '', 'the stream broke off: the connection was lost');
  } catch (error) {
    if (signal.aborted) finish('stopped', '');
    else finish('failed', '', failureOf(error));
  }
}

/** Runs a function soon after it was asked for, and not more often than that. */
class Throttle {
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #everyMs: number;
  readonly #run: () => void;

  constructor(everyMs: number, run: () => void) {
    this.#everyMs = everyMs;
    this.#run = run;
  }

  ask(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#run();
    }, this.#everyMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
