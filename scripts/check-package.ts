/** A part of `npm run check`: packs the packages and checks the tarballs, which are what a consumer gets: publint checks package.json, attw the types. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { messageOf } from '../src/core/base/message-of.ts';
import { fail } from './arguments.ts';
import { pack } from './release/packages.ts';
import { run } from './run.ts';

const cwd = fileURLToPath(new URL('..', import.meta.url));
const bin = join(cwd, 'node_modules/.bin');
const create = './packages/create';
const folder = mkdtempSync(join(tmpdir(), 'tandem-rpc-pack-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
try {
  for (const what of [[], ['--workspace', 'tandem-rpc-client'], [create]]) {
    const tarball = await pack(cwd, folder, ...what);
    await run(join(bin, 'publint'), ['run', tarball, '--strict'], { cwd });
    // A command, without types.
    if (what[0] === create) continue;
    await run(join(bin, 'attw'), [tarball, '--profile', 'esm-only', '--no-emoji'], { cwd });
  }
} catch (error) {
  fail(messageOf(error));
}
