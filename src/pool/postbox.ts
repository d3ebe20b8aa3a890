import type { MessagePort } from 'node:worker_threads';
import { largeText } from './frame.ts';
import type { Outbox } from './outbox.ts';
import { type Notice, type ResultMessage, wake } from './wire.ts';

/** A replica's way to the front end: results through shared memory where they fit, the rest as messages. */
export class Postbox {
  readonly #port: MessagePort;
  readonly #outbox: Outbox;

  constructor(port: MessagePort, outbox: Outbox) {
    this.#port = port;
    this.#outbox = outbox;
  }

  notify(notice: Notice): void {
    this.#port.postMessage(notice);
  }

  /** See `ResultReader`. */
  result(ticket: number, code: number, micros: number, elapsedUs: number, reply: string): void {
    if (this.#outbox.put(ticket, code, micros, elapsedUs, reply)) {
      if (this.#outbox.takeWake()) this.#port.postMessage(wake);
      return;
    }
    const bytes = reply.length > largeText ? new TextEncoder().encode(reply) : undefined;
    const message: ResultMessage = [ticket, code, micros, elapsedUs, bytes ?? reply];
    this.#port.postMessage(message, bytes === undefined ? [] : [bytes.buffer]);
  }
}
