/**
 * `npm run build [-- client | console [FOLDER]]`: writes what is published beside the sources: of the package, of the client's
 * package, or of the page of the console alone.
 */
import { join } from 'node:path';
import { buildClient, buildPackage } from './bundle.ts';
import { buildConsole } from './console.ts';
import { fail, main, root } from './script.ts';

const [what, folder = join(root, 'dist/console')] = process.argv.slice(2);
await main(async () => {
  if (what === 'client') await buildClient(root, join(root, 'packages/client'));
  else if (what === 'console') await buildConsole(root, folder);
  else if (what === undefined) await buildPackage(root, join(root, 'dist'));
  else fail(`${what}: nothing is built by that name; there are client and console`);
});
