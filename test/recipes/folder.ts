import { createHash } from 'node:crypto';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { root } from '../files.ts';

/**
 * Where the recipes are played. It lies outside of the repository, since Next.js bundles a package whose project lies inside of that
 * package's repository; each clone has one.
 */
export const folder: string = join(
  homedir(),
  '.cache/tandem-test-recipes',
  createHash('sha256').update(root).digest('hex').slice(0, 8),
);
