import type { AppOptions } from '../../../src/index.ts';
import { moduleUrl } from '../../files.ts';
import { type Lifetime, mountApp, type StartedApp, startApp } from '../../harness.ts';
import { type ServerName, servers } from '../../servers.ts';

type Carrier = ServerName | 'handler';
export const carriers: readonly Carrier[] = [...servers, 'handler'];
/** For what all of them do alike: the handler stands for node:http, and that server for the handler. */
export const alike = servers.includes('node') ? servers : carriers;

export type Served = Pick<StartedApp, 'app' | 'lines' | 'client'>;

export const procedures = moduleUrl('test/fixtures/app/hooks/procedures.ts');

/** An app over one of the ways in: a server of this package, or the handler in a server of somebody else's. */
export async function serve(t: Lifetime, carrier: Carrier, given: AppOptions): Promise<Served> {
  const source = given.router === undefined ? { modules: [procedures] } : {};
  const options = { ...source, corsOrigin: 'none', ...given };
  if (carrier !== 'handler') return startApp(t, { ...options, transport: carrier });
  return mountApp(t, { ...options, transport: 'node' });
}
