import assert from 'node:assert/strict';
import { type AppOptions, RpcApp } from '../../src/index.ts';
import { moduleUrl } from '../files.ts';
import { patience } from '../patience.ts';
import { usualServer } from '../servers.ts';

const module = moduleUrl('test/fixtures/client/procedures.ts');

interface Stoppable {
  after(stop: () => Promise<void>): void;
}

/** The real server, on the usual server unless the options say otherwise; its URL. */
export async function serve(
  t: Stoppable,
  options: AppOptions = { modules: [module] },
): Promise<string> {
  const app = new RpcApp({
    workers: 1,
    spareWorkers: 0,
    logLevel: 'silent',
    ...patience,
    port: 0,
    transport: usualServer,
    ...options,
  });
  t.after(() => app.close());
  const { url } = await app.listen();
  assert.equal(app.transport, options.transport ?? usualServer);
  return url;
}
