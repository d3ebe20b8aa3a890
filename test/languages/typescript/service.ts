import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { RpcApp } from '../../../src/index.ts';
import hard from '../../../test/fixtures/openapi/hard-shapes.ts';
import { patience } from '../../../test/patience.ts';

/** The procedures of hard shapes, served without worker threads. */
export function createApp(): RpcApp {
  const app = { router: hard, httpPath: '/api', port: 0, logLevel: 'silent', ...patience } as const;
  return new RpcApp(app);
}

/** Values of each shape, for the clients of all languages. */
export const values = JSON.parse(
  readFileSync(new URL('../../../test/languages/values.json', import.meta.url), 'utf8'),
) as Readonly<Record<string, readonly unknown[]>>;

/**
 * Sends each value of each shape, and compares what comes back.
 *
 * @param client its functions, named `shapesNullable` and so on
 * @param call calls one of them with its body
 */
export async function echoAll(
  client: object,
  call: (send: (body: never) => Promise<unknown>, body: never) => Promise<unknown>,
): Promise<void> {
  for (const [shape, all] of Object.entries(values)) {
    const name = `shapes${shape.charAt(0).toUpperCase()}${shape.slice(1)}`;
    const send = (client as Record<string, (body: never) => Promise<unknown>>)[name];
    assert.ok(send, name);
    for (const value of all) assert.deepEqual(await call(send, { value } as never), value, name);
  }
}
