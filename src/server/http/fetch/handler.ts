import type { Authenticator } from '../../../core/dispatch/authenticate.ts';
import type { Service } from '../../../core/dispatch/service.ts';
import { type Answer, failure, type ReplyLines } from '../edge/answer.ts';
import type { HttpOptions } from '../edge/http-options.ts';
import type { RequestHead } from '../edge/request-head.ts';
import type { RequestLine } from '../edge/route.ts';
import type { EventOutlet, EventStream } from '../event-stream/event-stream.ts';
import type { Exchange, Responder } from '../exchange.ts';
import { Routes } from '../routes.ts';

/**
 * A handler of standard requests, for frameworks whose routes take a `Request`: Next.js, Hono, SvelteKit, Astro. Its promise never
 * rejects.
 */
export type FetchHandler<Request extends globalThis.Request = globalThis.Request> = (
  request: Request,
) => Promise<Response>;

/** These are about a connection, or about a length that a framework may have changed by decoding the body. */
const ofTransfer = new Set(['connection', 'content-length', 'expect', 'transfer-encoding']);

const readBefore = failure('the body was read before this handler: give it the request unread');

/**
 * The handler answers at the service's own paths, and as the JSON-RPC path wherever else a framework has put it.
 *
 * @param auth says who calls, by the framework's request; undefined: `options.authenticate` is asked, if it is there
 */
export function createFetchHandler(
  service: Service,
  options: HttpOptions,
  auth?: Authenticator<Request>,
): FetchHandler {
  const authenticate = auth === undefined ? options.authenticate : undefined;
  const routes = new Routes(service, { ...options, socket: '', authenticate });
  return (request) =>
    new Promise((resolve) => {
      const url = new URL(request.url);
      readHead(routes.head.reset(), request, url.host);
      const line: RequestLine = {
        route: routes.findMounted(url.pathname) ?? routes.rpc,
        method: request.method,
        path: url.pathname,
        routed: url.pathname,
        query: url.search.slice(1),
        scheme: url.protocol === 'https:' ? 'https' : 'http',
        // Somebody else listens, and a request does not say where.
        isLocal: false,
      };
      const response = new FetchResponse(request, resolve, () => inFlight.leave());
      const { inFlight } = routes.context;
      inFlight.enter();
      const exchange = routes.begin(response, line);
      if (request.bodyUsed) {
        exchange.answer(readBefore);
        return;
      }
      routes.serve(exchange, line, auth && (() => auth(request, false)));
    });
}

/** The body's length is what comes: the exchange counts it as it counts chunks. */
function readHead(head: RequestHead, { headers, method, body }: Request, host: string): void {
  headers.forEach((value, name) => {
    if (!ofTransfer.has(name)) head.add(name, value);
  });
  if (head.host === undefined) head.add('host', host);
  if (method !== 'POST') return; // the body of another request is not read
  if (body === null) head.add('content-length', '0');
  else head.add('transfer-encoding', 'chunked');
}

/** Bytes of events that may wait for the framework to take them. */
const waitingBytes = 64 * 1024;

class FetchResponse implements Responder, EventOutlet {
  exchange: Exchange | undefined;
  readonly connectedFrom = undefined;
  readonly #request: Request;
  readonly #resolve: (response: Response) => void;
  readonly #onOver: () => void;
  #isAnswered = false;
  #isOver = false;
  #body: ReadableStreamDefaultController<Uint8Array> | undefined;
  #events: EventStream | undefined;
  readonly #onAbort = (): void => this.#leave();

  /** @param onOver called once: the answer is with the framework, or the client has gone */
  constructor(request: Request, resolve: (response: Response) => void, onOver: () => void) {
    this.#request = request;
    this.#resolve = resolve;
    this.#onOver = onOver;
    request.signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  get isDone(): boolean {
    return this.#isAnswered || this.#isOver;
  }

  readBody(): void {
    void this.#read();
  }

  async #read(): Promise<void> {
    try {
      for await (const chunk of this.#request.body ?? []) {
        if (this.isDone) return;
        this.exchange?.onChunk(chunk);
      }
    } catch {
      // The client has gone, or the framework has given the body up.
      this.#leave();
    }
    if (!this.isDone) this.exchange?.onBodyEnd();
  }

  cork(write: () => void): void {
    if (!this.isDone) write();
  }

  answer({ status, headers, body }: Answer, cors: ReplyLines, isHead: boolean): void {
    this.#finish();
    this.#resolve(
      new Response(isHead ? null : bodyOf(body), {
        status,
        headers: pairs([...headers, ...cors.lines]),
      }),
    );
  }

  reply(reply: string | Uint8Array, cors: ReplyLines, limit: readonly string[]): void {
    this.#finish();
    const headers = pairs(['content-type', 'application/json', ...limit, ...cors.lines]);
    this.#resolve(new Response(bodyOf(reply), { headers }));
  }

  events(events: EventStream): EventOutlet {
    this.#isAnswered = true;
    this.#events = events;
    return this;
  }

  /** See {@link EventOutlet}. What the framework reads of the body counts as taken. */
  write(texts: readonly string[], isLast: boolean, head: readonly string[] | undefined): boolean {
    if (head !== undefined) this.#open(head);
    const body = this.#body;
    for (const text of texts) if (text !== '') body?.enqueue(Buffer.from(text));
    const isTaken = (body?.desiredSize ?? 0) > 0;
    if (isTaken && isLast) this.end();
    return isTaken;
  }

  end(): void {
    this.#body?.close();
    this.#finish();
  }

  cut(): void {
    this.#body?.error(new Error('the client does not read'));
    this.#leave();
  }

  #open(head: readonly string[]): void {
    const stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#body = controller;
        },
        // In a turn of its own: it may be called within `enqueue`.
        pull: () => process.nextTick(() => this.#events?.drained()),
        cancel: () => this.#leave(),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: waitingBytes }),
    );
    this.#resolve(new Response(stream, { headers: pairs(head) }));
  }

  /** The client has gone. A framework that still waits for the answer gets one. */
  #leave(): void {
    if (this.#isOver) return;
    this.#finish();
    this.exchange?.onGone();
    this.#resolve(new Response(null, { status: 499 }));
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#request.signal.removeEventListener('abort', this.#onAbort);
    this.#onOver();
  }
}

/** Bytes are copied: those of a worker's reply may be shared, which a Response refuses. */
function bodyOf(body: string | Uint8Array | undefined): string | Uint8Array<ArrayBuffer> | null {
  return typeof body === 'object' ? new Uint8Array(body) : (body ?? null);
}

/** @param lines names and values, flat */
function pairs(lines: readonly string[]): [string, string][] {
  return lines.flatMap((name, i) => (i % 2 === 0 ? [[name, lines[i + 1] ?? '']] : []));
}
