import { type Bytes, eventsOf } from '../../src/client/event-lines.ts';
import { callsUrl } from '../facts.ts';
import { membersOf } from '../json/raw.ts';
import {
  type Answer,
  addExchange,
  changeExchange,
  type Exchange,
  type StreamValue,
} from './exchanges.ts';
import { failureOf } from './failure.ts';
import { requestHeaders } from './headers.ts';

/** Values that are kept of a stream: the last ones. */
const keptValues = 200;

/** Values are shown at most so often, however fast they come. */
const showEveryMs = 50;

/** The request of a call as JSON text. @param params JSON text; empty: none */
export function requestText(method: string, params: string, id: number | undefined): string {
  const head = JSON.stringify({ jsonrpc: '2.0', id, method });
  return params === '' ? head : `${head.slice(0, -1)},"params":${params}}`;
}

/**
 * Posts a body to the letter. The values of a stream are kept as they came, to the letter, which the package's own client
 * would parse.
 *
 * @returns the number of the exchange, which goes on
 */
export function send(facts: Pick<Exchange, 'title' | 'kind' | 'method' | 'body'>): number {
  const abort = new AbortController();
  const number = addExchange({ ...facts, stop: () => abort.abort() });
  void exchange(facts, abort.signal, number);
  return number;
}

async function exchange(
  { kind, body }: Pick<Exchange, 'kind' | 'body'>,
  signal: AbortSignal,
  number: number,
): Promise<void> {
  const began = performance.now();
  const isStream = kind === 'stream';
  let values: readonly StreamValue[] = [];
  let answer: Answer | undefined;
  let showing: ReturnType<typeof setTimeout> | undefined;
  const finish = (state: 'done' | 'failed' | 'stopped', text: string, failure?: string): void => {
    clearTimeout(showing);
    const ms = performance.now() - began;
    const bytes = new TextEncoder().encode(text).length;
    const ended = answer && { ...answer, ms, text, bytes };
    changeExchange(number, { state, values, answer: ended, failure, stop: undefined });
  };
  try {
    const accept = isStream ? 'text/event-stream, application/json' : '*/*';
    const headers = { 'content-type': 'application/json', accept, ...requestHeaders() };
    const response = await fetch(callsUrl as string, { method: 'POST', headers, body, signal });
    const { status, statusText, body: bytes } = response;
    const type = response.headers.get('content-type') ?? '';
    const isOpen = isStream && bytes !== null && type.startsWith('text/event-stream');
    const whole = isOpen ? '' : await response.text();
    const ms = performance.now() - began;
    answer = { status, statusText, headers: [...response.headers], ms, bytes: 0, text: '' };
    if (!isOpen) {
      finish('done', whole);
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
      showing ??= setTimeout(() => {
        showing = undefined;
        changeExchange(number, { values, answer });
      }, showEveryMs);
    }
    finish('failed', '', 'the stream broke off: the connection was lost');
  } catch (error) {
    if (signal.aborted && isStream) finish('stopped', '');
    else finish(signal.aborted ? 'stopped' : 'failed', '', failureOf(error));
  }
}
