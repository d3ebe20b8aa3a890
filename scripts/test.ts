/**
 * `npm test [-- flags and paths]`: compiles the repository into a copy (compile.ts) and runs tests there, under
 * node:test. Without paths it runs all that decides whether a change is right: every *.test.ts file below test/ except
 * the long ones, *.long.test.ts. A path may be a file, long or not, or a folder, which runs without its long files.
 *
 *   --all     the long ones too
 *   --long    the long ones alone
 *   --native      fails if uWebSockets.js cannot load; usual in CI on Node 20, for which every platform has a binary
 *   --no-native   runs without uWebSockets.js, as on a platform for which there is no binary
 *
 * Other flags are passed to Node. A value must be joined to its flag: --test-name-pattern=batch.
 *
 * This script exists because `node --test` takes no glob on Node 20, and the glob of a shell is not portable.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { messageOf } from '../src/core/base/message-of.ts';
import { loadUws } from '../src/server/http/uws/load.ts';
import { compileTree } from './compile.ts';
import { watchForHangs } from './hangs.ts';
import { makeReadable } from './readable-coverage.ts';
import { endWith } from './run.ts';
import { fail, root } from './script.ts';

const suffix = '.test.ts';
/** What a test may take, and what comes before the first and after the last one of a file. */
const testMs = 60_000;
/** The same in a long file. */
const longTestMs = 600_000;
/** Ends the names of the files that take long. docs/testing.md gives the reason for each. */
const longSuffix = `.long${suffix}`;

/**
 * What runs in one process: the folder below `test` that a file lies in, since most files take less time than a process takes to
 * start; those of small folders together. Their tests leave nothing behind in the process, and have no hooks outside `describe`.
 */
const groupOf = (file: string): string =>
  runsAlone(file) ? file : file.split('/').slice(0, 2).join('/');
const runsAlone = (file: string): boolean => isLong(file) || alone.has(file);
/** Files of a folder from which on it has a process of its own. */
const fewest = 4;
/** Files that need a process of their own, or enough time for one. */
const alone = new Set([
  'test/cli/serve.test.ts',
  'test/http/behaviour.test.ts',
  'test/http/event-stream/event-stream.test.ts',
  'test/http/limits.test.ts',
  'test/http/spans.test.ts',
  'test/http/tls.test.ts',
  'test/modules/modules.test.ts',
  'test/modules/reload-links.test.ts',
  'test/modules/reload.test.ts',
  'test/modules/typescript.test.ts',
  'test/protocol/protocol.test.ts',
  'test/service/blocked.test.ts',
  'test/service/lifecycle.test.ts',
  'test/service/tracing.test.ts',
  'test/transports/transports.test.ts',
]);

const own = new Set(['--all', '--long', '--native', '--no-native']);
process.chdir(root);
const args = process.argv.slice(2);
const asked = new Set(args.filter((arg) => own.has(arg)));
const flags = args.filter((arg) => arg.startsWith('-') && !own.has(arg));
const paths = args.filter((arg) => !arg.startsWith('-'));

/** @param file relative to the repository's folder */
function isAsked(file: string): boolean {
  return asked.has('--all') || isLong(file) === asked.has('--long');
}

function isLong(file: string): boolean {
  return file.endsWith(longSuffix);
}

/** @returns relative to the repository's folder */
function listTests(path: string): string[] {
  const from = relative(root, resolve(path)).replaceAll('\\', '/');
  if (!statSync(path).isDirectory()) return [from];
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(suffix))
    .map((name) => `${from}/${name.replaceAll('\\', '/')}`)
    .filter(isAsked)
    .sort();
}

const missing = paths.filter((path) => !existsSync(path));
if (missing.length > 0) fail(`no such test file or folder: ${missing.join(', ')}`);
const files = (paths.length > 0 ? paths : ['test']).flatMap(listTests);
if (files.length === 0) fail(`no *${suffix} file in ${paths.join(', ') || 'test/'}`);

/** Where c8 has V8 write what the tests run; a later run removes the copy, whose source maps c8 reads after this process has ended. */
const coverage = process.env.NODE_V8_COVERAGE;
const isMeasured = coverage !== undefined;

/** Not for all runs: a process or a worker thread that reads the maps takes twice the time to start. */
const sourceMaps = '--enable-source-maps';
const isMapped = flags.includes(sourceMaps);

const hasNative = !asked.has('--no-native');
const isCi = (process.env.CI ?? '') !== '';
if (hasNative && (asked.has('--native') || (isCi && process.versions.node.startsWith('20.')))) {
  const { reason } = await loadUws();
  if (reason !== undefined) fail(`uWebSockets.js cannot load: ${reason}`);
}

/** Puts a module that fails into the copy, where it is found before the installed one. */
function switchOffNative(): void {
  const folder = join(copy, 'node_modules/uWebSockets.js');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'index.js'), "throw new Error('switched off by --no-native');");
}

const copy = await compileTree(root, isMeasured || isMapped ? 'apart' : 'coded').catch(
  (error: unknown) => fail(messageOf(error)),
);
if (!hasNative) switchOffNative();
if (!isMeasured) process.on('exit', () => rmSync(copy, { recursive: true, force: true }));
const compiled = (file: string): string => join(copy, relative(root, file)).replace(/\.ts$/, '.js');

/** Where the files lie that node:test runs: each imports a test file, or those of a folder that run together. */
const entries = join(copy, 'entries');

/** @returns those files */
function toRun(): string[] {
  const isSmall = (folder: string): boolean =>
    files.filter((file) => groupOf(file) === folder).length < fewest;
  const groups = new Map<string, string[]>();
  for (const file of files) {
    const folder = groupOf(file);
    const name = !runsAlone(file) && isSmall(folder) ? 'test' : folder;
    groups.set(name, [...(groups.get(name) ?? []), file]);
  }
  // What runs last, beside idle cores, should be small: what has a process of its own runs first, then the large folders.
  const weight = ([name, { length }]: [string, string[]]): number =>
    runsAlone(name) ? files.length : length;
  const bySize = [...groups].sort((a, b) => weight(b) - weight(a));
  return bySize.map(([folder, members]) => {
    const name = members.length === 1 ? (members[0] ?? folder) : folder;
    const entry = `${join(entries, name)}.js`;
    const imported = ['scripts/running-tests.ts', ...members];
    const lines = imported.map((file) => `import ${JSON.stringify(compiled(file))};`);
    mkdirSync(dirname(entry), { recursive: true });
    writeFileSync(entry, lines.join('\n'));
    return entry;
  });
}

const runner = [
  '--test',
  '--test-reporter=spec',
  '--test-reporter-destination=stdout',
  `--test-reporter=${pathToFileURL(compiled('scripts/not-run.ts')).href}`,
  '--test-reporter-destination=stdout',
  // Three times as many files as there are cores: the tests start threads and processes, and wait for them.
  `--test-concurrency=${availableParallelism() * 3}`,
];

/** @returns the test file or the folder that an entry runs */
function nameOf(entry: string): string {
  return relative(entries, entry).replace(/\.js$/, '');
}

const runningTests = join(copy, 'running-tests');
watchForHangs(runningTests, nameOf, (name) => (isLong(name) ? longTestMs : testMs));

const child = spawn(process.execPath, [...runner, ...flags, ...toRun()], {
  // In the copy, tsx reads the copy's tsconfig.json, so `tandem-rpc` leads to the copy: modules get one package.
  cwd: copy,
  env: { ...process.env, RUNNING_TESTS_FOLDER: runningTests },
  stdio: ['ignore', 'inherit', 'inherit'],
});
endWith(child);
child.on('exit', (code) => {
  if (code !== 0 && !isMapped) {
    console.error(`\nFor the lines of the sources: npm test -- ${sourceMaps} FILE`);
  }
  if (isMeasured) makeReadable(coverage);
});
