import { callsUrl } from '../facts.ts';
import { type Answer, addExchange, changeExchange, type Exchange } from './exchanges.ts';
import { failureOf } from './failure.ts';
import { requestHeaders } from './headers.ts';

/** The request of a call as JSON text. @param params JSON text; empty: none */
export function requestText(method: string, params: string, id: number | undefined): string {
  const head = JSON.stringify({ jsonrpc: '2.0', id, method });
  return params === '' ? head : `${head.slice(0, -1)},"params":${params}}`;
}

/**
 * Posts a body to the letter.
 *
 * @returns the number of the exchange, which goes on
 */
export function send(facts: Pick<Exchange, 'title' | 'kind' | 'method' | 'body'>): number {
  const abort = new AbortController();
  const number = addExchange({ ...facts, stop: () => abort.abort() });
  void exchange(facts.body, abort.signal, number);
  return number;
}

export function post(body: string, signal: AbortSignal, accept: string): Promise<Response> {
  const headers = { 'content-type': 'application/json', accept, ...requestHeaders() };
  return fetch(callsUrl as string, { method: 'POST', headers, body, signal });
}

async function exchange(body: string, signal: AbortSignal, number: number): Promise<void> {
  const began = performance.now();
  try {
    const response = await post(body, signal, '*/*');
    const text = await response.text();
    const answer = toAnswer(response, text, performance.now() - began);
    changeExchange(number, { state: 'done', answer, stop: undefined });
  } catch (error) {
    const change = { stop: undefined, failure: failureOf(error) } as const;
    changeExchange(number, { ...change, state: signal.aborted ? 'stopped' : 'failed' });
  }
}

export function toAnswer(response: Response, text: string, ms: number): Answer {
  const { status, statusText } = response;
  const bytes = new TextEncoder().encode(text).length;
  return { status, statusText, headers: [...response.headers], ms, bytes, text };
}
