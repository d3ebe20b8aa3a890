/** Mistakes with files and folders: what a command reads, where it runs, and where its output goes. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { isCompiled, modulePath, nodeFlags, temporaryFolder } from '../files.ts';
import { cleanEnvironment, fixture } from './process.ts';

const command = [process.execPath, ...nodeFlags, modulePath('src/cli/main.ts')];

/** Runs a command whose output goes to a file. @returns its code, and what it says on stderr */
function run(args: readonly string[], stdout: number | 'ignore' = 'ignore') {
  const [file = '', ...all] = args;
  const { status, stderr } = spawnSync(file, all, {
    env: cleanEnvironment({}),
    stdio: ['ignore', stdout, 'pipe'],
    encoding: 'utf8',
  });
  return { status, stderr };
}

describe('files and folders', () => {
  const folder = temporaryFolder({ after });

  it('a module that awaits at its top level what never comes is named', () => {
    const file = join(folder, 'waits.mjs');
    writeFileSync(file, 'await new Promise(() => {});\n');
    assert.deepEqual(run([...command, 'list', file]), {
      status: 1,
      stderr: `tandem: cannot load ${file}: it awaits something at its top level that never comes\n`,
    });
  });

  it('a FIFO is no module, and nobody waits for it', () => {
    const file = join(folder, 'fifo.mjs');
    execFileSync('mkfifo', [file]);
    const failure = { status: 1, stderr: `tandem: module ${file} is no regular file\n` };
    assert.deepEqual(run([...command, 'list', file]), failure);
    assert.deepEqual(
      run([
        ...command,
        ...'serve --watch --no-supervisor --port 0 --log-level error'.split(' '),
        file,
      ]),
      failure,
    );
  });

  it('a file of 100 MB is no module', () => {
    const file = join(folder, 'huge.mjs');
    writeFileSync(file, '');
    truncateSync(file, 100_000_000);
    assert.deepEqual(run([...command, 'list', file]), {
      status: 1,
      stderr: `tandem: module ${file} has 100000000 bytes; the most is 67108864\n`,
    });
  });

  it('output on a full disk is a failure', () => {
    const module = fixture('cli/procedures.ts');
    // Each write to this file of Linux fails as on a full disk.
    const full = openSync('/dev/full', 'w');
    try {
      for (const args of [
        ['list', module],
        ['codegen', module],
      ]) {
        const { status, stderr } = run([...command, ...args], full);
        assert.match(stderr, /^tandem: the output cannot be written: ENOSPC\b.*\n$/m, args[0]);
        assert.equal(status, 1);
      }
    } finally {
      closeSync(full);
    }
  });

  // From the sources the compiler of modules itself needs the folder.
  it('a working folder that was deleted is named', { skip: !isCompiled }, () => {
    const gone = join(folder, 'gone');
    mkdirSync(gone);
    const script = 'cd "$1" && rmdir "$1" && shift && exec "$@"';
    assert.deepEqual(run(['sh', '-c', script, 'sh', gone, ...command, 'list', 'a.mjs']), {
      status: 1,
      stderr: 'tandem: the working folder was deleted; change to one that exists\n',
    });
  });
});
