import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { StartupError } from '../../src/core/base/startup-error.ts';
import type { LoginOptions } from '../../src/extras/nats/connection/connect.ts';
import { connectNats } from '../../src/extras/nats/connection/connect.ts';
import type {
  NatsConnection,
  NatsEvents,
  NatsState,
} from '../../src/extras/nats/connection/connection.ts';

/** Keeps what it is told. */
export class RecordedEvents implements NatsEvents {
  readonly told: string[] = [];

  disconnected(): void {
    this.told.push('disconnected');
  }

  reconnected(): void {
    this.told.push('reconnected');
  }

  denied(operation: string, subject: string): void {
    this.told.push(`denied ${operation} ${subject}`);
  }

  callbackFailed(subject: string, error: unknown): void {
    this.told.push(`failed ${subject}: ${String(error)}`);
  }
}

export function natsOptions(servers: string, more: Partial<LoginOptions> = {}): LoginOptions {
  return {
    nats: [servers],
    natsCreds: '',
    natsNkey: '',
    natsCa: '',
    natsCert: '',
    natsKey: '',
    startTimeoutMs: 30_000,
    name: 'a test',
    ...more,
  };
}

export interface Connected {
  readonly connection: NatsConnection;
  readonly events: RecordedEvents;
}

/** A connection that ends with the test. */
export async function connected(
  t: TestContext,
  servers: string,
  more: Partial<LoginOptions> = {},
): Promise<Connected> {
  const events = new RecordedEvents();
  const connection = await connectNats(natsOptions(servers, more), events);
  t.after(() => connection.close());
  return { connection, events };
}

/** The one line that connecting fails with. */
export async function refusal(servers: string, more: Partial<LoginOptions> = {}): Promise<string> {
  try {
    const connection = await connectNats(natsOptions(servers, more), new RecordedEvents());
    await connection.close();
  } catch (error) {
    assert.ok(error instanceof StartupError, String(error));
    assert.doesNotMatch(error.message, /[\r\n]/);
    return error.message;
  }
  return assert.fail('it connected');
}

/** Resolves at the next change to `state`. */
export function untilState(connection: NatsConnection, state: NatsState): Promise<void> {
  return new Promise((resolve) => {
    const stop = connection.onState((now) => {
      if (now !== state) return;
      stop();
      resolve();
    });
  });
}
