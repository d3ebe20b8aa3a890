/**
 * `npm test [-- flags and paths]`: runs every *.test.ts file below test/, or the files and folders
 * named, under node:test through tsx. A flag's value is joined to it: --test-name-pattern=batch.
 *
 * Exists since `node --test` takes no glob on Node 20, and a shell's glob is not portable.
 */
import { spawn, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { availableParallelism, constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const suffix = '.test.ts';

function listTests(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(suffix))
    .sort()
    .map((name) => join(path, name));
}

/** The package as it is published, for the tests that run its command line. */
function buildPackage(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tandem-test-'));
  for (const name of ['package.json', 'templates']) {
    cpSync(name, join(folder, name), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction');
  const tsc = 'node_modules/typescript/bin/tsc';
  const args = [tsc, '-p', 'tsconfig.build.json', '--outDir', join(folder, 'dist')];
  // What does not compile is said by the type check; the tests say what does not work.
  spawnSync(process.execPath, args);
  return folder;
}

process.chdir(root);
const args = process.argv.slice(2);
const flags = args.filter((arg) => arg.startsWith('-'));
const paths = args.filter((arg) => !arg.startsWith('-'));
const missing = paths.filter((path) => !existsSync(path));
if (missing.length > 0) {
  console.error(`no such test file or folder: ${missing.join(', ')}`);
  process.exit(1);
}
const files = (paths.length > 0 ? paths : ['test']).flatMap(listTests);
if (files.length === 0) {
  console.error(`no *${suffix} file in ${paths.join(', ') || 'test/'}`);
  process.exit(1);
}

const runner = [
  '--import',
  'tsx',
  '--test',
  '--test-reporter=spec',
  // The tests start threads and processes of their own, and wait for them: some files more than there are cores.
  `--test-concurrency=${availableParallelism() + 1}`,
  // Per test and per file; a hang fails instead of holding CI.
  '--test-timeout=600000',
];
const build = buildPackage();
process.on('exit', () => rmSync(build, { recursive: true, force: true }));
const child = spawn(process.execPath, [...runner, ...flags, ...files], {
  env: { ...process.env, TANDEM_TEST_BUILD: build },
  stdio: ['ignore', 'inherit', 'inherit'],
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => child.kill(signal));
}
child.on('exit', (code, signal) => {
  process.exitCode = signal === null ? (code ?? 1) : 128 + constants.signals[signal];
});
