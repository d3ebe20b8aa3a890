import { spawnSync } from 'node:child_process';
import { rootPath } from './root.ts';

/**
 * Builds the package as it is published.
 *
 * @throws Error with the output of the build
 */
export function buildPackage(): void {
  const { status, stderr } = spawnSync('npm', ['run', 'build'], {
    cwd: rootPath(),
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`npm run build: ${stderr}`);
}
