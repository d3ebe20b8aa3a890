import type { MessagePort } from 'node:worker_threads';
import { largeBody } from '../../jsonrpc/body.ts';
import { type Notice, type ResultMessage, wake } from '../wire/messages.ts';
import type { Outbox } from '../wire/outbox.ts';

/**
 * Results wait so long for others, milliseconds, before the front end is told of them. Woken for each, it
 * would take turns with this thread wherever the two share a core: two context switches a call.
 */
const gatherMs = 0.015;

/** A replica's way to the front end: results through shared memory where they fit, the rest as messages. */
export class Postbox {
  /** Since when the front end has not been told of a result that it could take; undefined: of all. */
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
   * Publishes a result; `tell` has to follow. For the numbers see `ResultReader`.
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

  /** Tells the front end of the results that are published. */
  tell(): void {
    if (this.#untoldSince === undefined) return;
    this.#untoldSince = undefined;
    if (this.#outbox.takeWake()) this.#port.postMessage(wake);
  }

  /** The same, unless the thread goes on with a short call and may gather more. */
  tellBefore(isShort: boolean, now: number): void {
    if (this.#untoldSince === undefined) return;
    if (!isShort || now - this.#untoldSince >= gatherMs) this.tell();
  }
}
