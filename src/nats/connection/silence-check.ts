import type { NatsConnection } from './connection.ts';

/**
 * Asks the NATS server for an answer before processes that are silent are judged. What they had sent comes before that
 * answer: so an outage of NATS does not look like their death.
 */
export class SilenceCheck {
  readonly #connection: NatsConnection;
  readonly #judge: () => void;
  #isAsking = false;

  /** @param judge called when the server has answered; never where the connection is lost meanwhile */
  constructor(connection: NatsConnection, judge: () => void) {
    this.#connection = connection;
    this.#judge = judge;
  }

  /** Asks, unless an answer is still awaited or the connection is down. */
  ask(): void {
    if (this.#isAsking || !this.#connection.connected) return;
    this.#isAsking = true;
    this.#connection.flush().then(
      () => {
        this.#isAsking = false;
        this.#judge();
      },
      () => {
        this.#isAsking = false;
      },
    );
  }
}
