import { type LoadedModules, loadModules } from '../../core/modules/modules.ts';
import { getRegistrySchema } from '../../core/procedures/document/introspect.ts';
import { openRpcOf } from '../../core/procedures/document/openrpc.ts';
import { tableOf } from '../../core/procedures/router.ts';
import { printFailure } from '../failure.ts';

/** The document that `tandem schema` prints of a module. */
export async function describeModule(path: string, format: 'tandem' | 'openrpc'): Promise<unknown> {
  const { router } = await loadQuietly(path, 0);
  return format === 'openrpc' ? openRpcOf(tableOf(router)) : getRegistrySchema(router);
}

/**
 * Loads a module with its own output sent to stderr: stdout is for what the user asked for.
 *
 * @param generation 0: loads as a plain import does; 1: loads anew
 */
export async function loadQuietly(path: string, generation: number): Promise<LoadedModules> {
  const write = process.stdout.write.bind(process.stdout);
  // Node ends in silence if nothing is left that could settle an await at the top level of a module.
  const onExit = (code: number): void => {
    if (code !== 0) return;
    printFailure(`cannot load ${path}: it awaits something at its top level that never comes`);
    process.exitCode = 1;
  };
  process.on('exit', onExit);
  process.stdout.write = process.stderr.write.bind(process.stderr);
  try {
    return await loadModules([path], { generation });
  } finally {
    process.stdout.write = write;
    process.off('exit', onExit);
  }
}
