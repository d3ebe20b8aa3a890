/** A part of `npm run check`: packs the packages and checks the tarballs, which are what a consumer gets: publint checks package.json, attw the types. */
import { join } from 'node:path';
import { pack } from './release/packages.ts';
import { run } from './run.ts';
import { root as cwd, main, temporaryFolder } from './script.ts';

const bin = join(cwd, 'node_modules/.bin');
const create = './packages/create';
await main(async () => {
  const folder = temporaryFolder('tandem-rpc-pack-');
  for (const what of [[], ['--workspace', 'tandem-rpc-client'], [create]]) {
    const tarball = await pack(cwd, folder, ...what);
    await run(join(bin, 'publint'), ['run', tarball, '--strict'], { cwd });
    // A command, without types.
    if (what[0] === create) continue;
    await run(join(bin, 'attw'), [tarball, '--profile', 'esm-only', '--no-emoji'], { cwd });
  }
});
