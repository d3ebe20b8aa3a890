/** A part of `npm run check`: packs the packages and checks the tarballs, which are what a consumer gets: publint checks package.json, attw the types. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { messageOf } from '../src/core/base/message-of.ts';
import { fail } from './arguments.ts';
import { run } from './run.ts';

const cwd = fileURLToPath(new URL('..', import.meta.url));
const bin = join(cwd, 'node_modules/.bin');
const create = './packages/create';
const folder = mkdtempSync(join(tmpdir(), 'tandem-rpc-pack-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
try {
  for (const of of [[], ['--workspace', 'tandem-rpc-client'], [create]]) {
    const to = mkdtempSync(join(folder, 'of-'));
    await run('npm', ['pack', '--silent', ...of, '--pack-destination', to], { cwd });
    const tarball = join(to, readdirSync(to)[0] ?? '');
    await run(join(bin, 'publint'), ['run', tarball, '--strict'], { cwd });
    // A command, without types.
    if (of[0] === create) continue;
    await run(join(bin, 'attw'), [tarball, '--profile', 'esm-only', '--no-emoji'], { cwd });
  }
} catch (error) {
  fail(messageOf(error));
}
