import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';
import { listenTo } from '../harness.ts';

/** One request as it arrived. */
export interface Received {
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  /** Of the body's requests, in their order. */
  readonly ids: (number | undefined)[];
}

export type Answer = (received: Received, response: ServerResponse) => void;

export interface RawServer {
  readonly url: string;
  readonly received: readonly Received[];
}

/** A server that answers as it is told, however wrong that is. */
export async function serveRaw(t: TestContext, answer: Answer): Promise<RawServer> {
  const received: Received[] = [];
  const port = await listenTo(t, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', () => {});
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const one = { headers: request.headers, text, ids: idsOf(text) };
      received.push(one);
      answer(one, response);
    });
  });
  return { url: `http://127.0.0.1:${port}/rpc`, received };
}

function idsOf(text: string): (number | undefined)[] {
  const body = JSON.parse(text) as { id?: number } | { id?: number }[];
  return (Array.isArray(body) ? body : [body]).map(({ id }) => id);
}

export function answerJson(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
}

export type Reply = (id: number | undefined) => unknown;
export const result: Reply = (id) => ({ jsonrpc: '2.0', id, result: `of ${id}` });

/** Answers each request of a body by `reply`, as one body. */
export const answering =
  (reply: Reply, status = 200) =>
  ({ ids, text }: Received, response: ServerResponse): void => {
    const replies = ids.map(reply);
    answerJson(response, text.startsWith('[') ? replies : replies[0], status);
  };
