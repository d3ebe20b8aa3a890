import { type LoadedModules, loadModules } from '../../modules/modules.ts';
import { getRegistrySchema } from '../../router/document/introspect.ts';
import { openRpcOf } from '../../router/document/openrpc.ts';
import { tableOf } from '../../router/router.ts';

/** What `tandem schema` prints of a module. */
export async function describeModule(path: string, format: 'tandem' | 'openrpc'): Promise<unknown> {
  const { router } = await loadQuietly(path, 0);
  return format === 'openrpc' ? openRpcOf(tableOf(router)) : getRegistrySchema(router);
}

/**
 * Loads a module while its own output goes to stderr: stdout is for what was asked for.
 *
 * @param generation 0: as a plain import does; 1: anew
 */
export async function loadQuietly(path: string, generation: number): Promise<LoadedModules> {
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = process.stderr.write.bind(process.stderr);
  try {
    return await loadModules([path], { generation });
  } finally {
    process.stdout.write = write;
  }
}
