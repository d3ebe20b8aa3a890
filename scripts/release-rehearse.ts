/**
 * `npm run release:rehearse [-- --all-platforms]`: what users would see after a release. Packs all packages, has a registry on this
 * machine serve them, installs them from there in empty folders, and runs what a user would run. Prints sizes and
 * times. Fails if a step fails or an installation is larger than it may be.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { program } from 'commander';
import { makePackages } from './release/packages.ts';
import { startRegistry } from './release/registry.ts';
import { rehearse } from './release/user.ts';
import { main, root, temporaryFolder } from './script.ts';

const { allPlatforms } = program
  .name('npm run release:rehearse --')
  .option('--all-platforms', 'makes the packages of uWebSockets.js for all, not for this one alone')
  .parse()
  .opts<{ allPlatforms?: true }>();
const isHere = (platform: string): boolean => platform === `${process.platform}-${process.arch}`;
await main(async () => {
  const folder = temporaryFolder('tandem-release-');
  const packages = join(folder, 'packages');
  const users = join(folder, 'users');
  for (const path of [packages, users]) mkdirSync(path);
  const isPacked = (name: string): boolean => allPlatforms === true || isHere(name);
  const tarballs = await makePackages(root, packages, isPacked);
  const registry = await startRegistry(folder, tarballs);
  await rehearse(root, users, registry.env);
  registry.close();
});
