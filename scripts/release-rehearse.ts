/**
 * `npm run release:rehearse [-- --all-platforms]`: what publishing would do, and what a user would then see. Packs all packages,
 * publishes them to a registry on this machine, installs them from there in empty folders as the guide says, runs what a
 * user would run, and prints sizes and times. Fails if a step fails or an installation is larger than it may be.
 *
 *   --all-platforms   makes the packages of uWebSockets.js for all platforms, not for this one alone
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { messageOf } from '../src/core/base/message-of.ts';
import { fail } from './arguments.ts';
import { makePackages } from './release/packages.ts';
import { startRegistry } from './release/registry.ts';
import { npm } from './release/run.ts';
import { rehearse } from './release/user.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const args = process.argv.slice(2);
const hasAll = args.includes('--all-platforms');
if (args.some((arg) => arg !== '--all-platforms')) {
  fail('usage: npm run release:rehearse [-- --all-platforms]');
}
const folder = mkdtempSync(join(tmpdir(), 'tandem-release-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));
try {
  const packages = join(folder, 'packages');
  mkdirSync(packages);
  const isHere = (platform: string): boolean => platform === `${process.platform}-${process.arch}`;
  const made = makePackages(root, packages, (platform) => hasAll || isHere(platform));
  const registry = await startRegistry(folder);
  try {
    for (const one of made) {
      // What the packages have in their scripts has run when they were packed.
      const flags = ['--ignore-scripts', '--loglevel', 'error', '--tag', 'latest'];
      npm(['publish', ...flags], { cwd: one.folder, env: registry.env });
      console.log(`published ${one.name}@${one.version}`);
    }
    const users = join(folder, 'users');
    mkdirSync(users);
    await rehearse(root, users, registry.env);
  } finally {
    await registry.close();
  }
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}
