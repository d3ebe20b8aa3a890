/** `npm run build`: writes dist, which is what is published beside the sources. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildPackage } from './bundle.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
try {
  await buildPackage(root, join(root, 'dist'));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
