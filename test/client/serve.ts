import type { AppOptions } from '../../src/index.ts';
import { moduleUrl } from '../files.ts';
import { type Lifetime, startApp } from '../harness.ts';

const module = moduleUrl('test/fixtures/client/procedures.ts');

/** The real server, on the usual server unless the options say otherwise; its URL. */
export async function serve(
  t: Lifetime,
  options: AppOptions = { modules: [module] },
): Promise<string> {
  return (await startApp(t, options)).url;
}
