import { existsSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The compiled command line that scripts/test.ts has made for this run, which starts in a third of the time
 * and is what people run; undefined for a test that is started by itself.
 */
export function builtMain(): string | undefined {
  const folder = process.env.TANDEM_TEST_BUILD;
  const main = folder && join(folder, 'dist/src/cli/main.js');
  return main !== undefined && existsSync(main) ? main : undefined;
}

/** Modules in TypeScript import the sources: beside the compiled package they would load everything twice. */
export function needsSources(args: readonly string[]): boolean {
  return args.some((arg) => arg.endsWith('.ts') && existsSync(arg));
}
