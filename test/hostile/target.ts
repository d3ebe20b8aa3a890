import { type ConfigOptions, Dispatcher } from '../../src/index.ts';
import { moduleUrl } from '../files.ts';
import inlineRouter from '../fixtures/hostile/inline.ts';
import { startApp, usual } from '../harness.ts';
import type { RawClient } from '../http/raw-client.ts';
import type { ServerName } from '../servers.ts';

/** One of test/fixtures/hostile. */
type Fixture = 'both' | 'inline' | 'worker' | 'auto';

function moduleOf(name: Fixture): string {
  return moduleUrl(`test/fixtures/hostile/${name}.ts`);
}

/** With one worker, so that its count of runs is the count of all that ran in the pool. */
export async function startDispatcher(
  name: Fixture,
  options: ConfigOptions = {},
): Promise<Dispatcher> {
  // A router starts no workers.
  const source = name === 'inline' ? { router: inlineRouter } : { modules: [moduleOf(name)] };
  const dispatcher = new Dispatcher({ ...source, ...usual, logLevel: 'silent', ...options });
  await dispatcher.ready();
  return dispatcher;
}

const ignore = (): void => {};

/** A server that hostile bytes are sent to. */
export interface Target {
  readonly transport: ServerName;
  readonly client: () => RawClient;
  readonly close: () => Promise<void>;
}

export async function startTarget(
  transport: ServerName,
  name: Fixture,
  options: ConfigOptions = {},
): Promise<Target> {
  const ends: (() => unknown)[] = [];
  const lifetime = { after: (end: () => unknown) => ends.push(end) };
  const modules = [moduleOf(name)];
  // Lines of millions of cases are not kept.
  const log = { debug: ignore, info: ignore, warn: ignore, error: ignore };
  const { client } = await startApp(lifetime, { modules, transport, log, ...options });
  return {
    transport,
    client,
    async close() {
      for (const end of ends) await end();
    },
  };
}
