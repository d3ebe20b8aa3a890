import assert from 'node:assert/strict';
import { type AppOptions, Router, RpcApp } from '../../src/index.ts';

/** Why an app cannot listen: an error of one line. */
export async function listenFailure(options: AppOptions): Promise<Error & { code?: string }> {
  const app = new RpcApp({ router: new Router(), logLevel: 'silent', ...options });
  try {
    await app.listen();
  } catch (error) {
    assert.ok(error instanceof Error);
    assert.doesNotMatch(error.message, /\n/);
    return error;
  }
  await app.close();
  return assert.fail('it listens');
}
