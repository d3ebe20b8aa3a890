/** `npm run build [-- client]`: writes what is published beside the sources, of the package or of the client's. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildClient, buildPackage } from './bundle.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
try {
  if (process.argv[2] === 'client') await buildClient(root, join(root, 'packages/client'));
  else await buildPackage(root, join(root, 'dist'));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
