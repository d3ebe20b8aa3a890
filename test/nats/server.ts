import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { findNatsServer, needs } from './nats-server.ts';

export { NatsServer, type NatsServerOptions } from './nats-server.ts';

/** A suite against a real server. Without one it is skipped; in CI that is a failure. */
export function describeNats(name: string, body: () => void): void {
  if (findNatsServer() !== undefined) {
    describe(name, body);
  } else if ((process.env.CI ?? '') !== '') {
    test(name, () => assert.fail(needs));
  } else {
    describe(name, { skip: needs }, body);
  }
}
