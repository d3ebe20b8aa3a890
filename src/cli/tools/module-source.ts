import { loadModules } from '../../core/modules/modules.ts';
import { getRegistrySchema } from '../../core/procedures/document/introspect.ts';
import { openRpcOf } from '../../core/procedures/document/openrpc.ts';
import { tableOf } from '../../core/procedures/router.ts';
import type { Procedure } from '../../core/procedures/types.ts';
import { printFailure } from '../exit.ts';

/**
 * The document of a module. What the module prints goes to stderr: stdout is for what the user asked for.
 *
 * @param format or what makes the document of the procedures
 * @param generation 0: loads as a plain import does; 1: loads anew
 * @returns also the files that were loaded
 */
export async function describeModule(
  path: string,
  format: 'tandem' | 'openrpc' | ((procedures: ReadonlyMap<string, Procedure>) => unknown),
  generation = 0,
): Promise<{ readonly document: unknown; readonly files: readonly string[] }> {
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
    const { router, files } = await loadModules([path], { generation });
    const describe = format === 'openrpc' ? openRpcOf : format;
    const document = describe === 'tandem' ? getRegistrySchema(router) : describe(tableOf(router));
    return { document, files: [...files.keys()] };
  } finally {
    process.stdout.write = write;
    process.off('exit', onExit);
  }
}
