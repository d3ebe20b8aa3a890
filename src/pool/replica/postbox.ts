import type { MessagePort } from 'node:worker_threads';
import { largeBody } from '../../jsonrpc/body.ts';
import { type Notice, type ResultMessage, wake } from '../wire/messages.ts';
import type { Outbox } from '../wire/outbox.ts';

/**
 * How long a result may wait for others before the front end is told of them, milliseconds. Where the front end
 * shares a core with this thread, waking it for each result would make the two take turns: two context switches a
 * call.
 */
const gatherMs = 0.015;

/**
 * Sends results and notices to the front end: results through shared memory where they fit, everything else in
 * messages.
 */
export class Postbox {
  /** When the oldest result was published that the front end was not told of; undefined: it was told of all. */
  #untoldSince: number | undefined;
  readonly #port: MessagePort;
  readonly #outbox: Outbox;

  constructor(port: MessagePort, outbox: Outbox) {
    this.#port = port;
    this.#outbox = outbox;
  }

  notify(notice: Notice): void {
    this.#port.postMessage(notice);
  }

  /**
   * Publishes a result. `tell` or `tellBefore` must follow. For the numbers see `ResultReader`.
   *
   * @param now by `clockMs`
   */
  result(
    now: number,
    ticket: number,
    code: number,
    micros: number,
    elapsedUs: number,
    reply: string,
  ): void {
    if (this.#outbox.put(ticket, code, micros, elapsedUs, reply)) {
      this.#untoldSince ??= now;
      return;
    }
    const bytes = reply.length > largeBody ? new TextEncoder().encode(reply) : undefined;
    const message: ResultMessage = [ticket, code, micros, elapsedUs, bytes ?? reply];
    this.#port.postMessage(message, bytes === undefined ? [] : [bytes.buffer]);
  }

  /** Publishes an item of a stream; see `stream-item.ts`. `tell` must follow. */
  item(ticket: number, kind: number, code: number, number: number, text: string): void {
    if (this.#outbox.put(-ticket, code, number, kind, text)) this.#untoldSince ??= 0;
    else this.#port.postMessage([-ticket, code, number, kind, text] satisfies ResultMessage);
  }

  /** Tells the front end that results were published. */
  tell(): void {
    if (this.#untoldSince === undefined) return;
    this.#untoldSince = undefined;
    if (this.#outbox.takeWake()) this.#port.postMessage(wake);
  }

  /** As `tell`, except where the thread goes on with a short call: then more results may gather first. */
  tellBefore(isShort: boolean, now: number): void {
    if (this.#untoldSince === undefined) return;
    if (!isShort || now - this.#untoldSince >= gatherMs) this.tell();
  }
}
