/**
 * `npm run test:node -- MAJOR [--no-native] [arguments of npm test]`: runs the tests on another version of Node, which comes
 * from npm. If uWebSockets.js has a binary for it that needs a newer glibc than this system has, the
 * tests run in a Debian 13 that debootstrap makes; that needs Linux and root, or the script ends with code 2.
 *
 *   --no-native   without uWebSockets.js, so without the Debian 13
 */
import { execFileSync, spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { messageOf } from '../src/core/base/message-of.ts';
import { findProgram } from '../test/programs.ts';
import { endWith } from './run.ts';
import { root as checkout } from './script.ts';

/** What the tests start, as in .ci/run. */
const programs = ['nats-server', 'nginx-light', 'systemd', 'curl', 'chromium'];

function give(message: string): never {
  console.error(message);
  process.exit(2);
}

/** @returns the program of that version, downloaded if it is not there yet */
function nodeOf(major: string, folder: string): string {
  const name = `node-${process.platform}-${process.arch}`;
  const node = join(folder, 'node_modules', name, 'bin/node');
  if (existsSync(node)) return node;
  mkdirSync(folder, { recursive: true });
  const args = ['install', '--no-save', '--ignore-scripts', '--no-audit', '--no-fund'];
  execFileSync('npm', [...args, '--prefix', folder, `${name}@${major}`], { stdio: 'inherit' });
  return node;
}

/** Why uWebSockets.js does not load on that Node here; empty: it does. */
function nativeFailure(node: string): string {
  const script =
    "import('uWebSockets.js').then(() => process.exit(), (e) => { console.log(e.message); process.exit(); })";
  const args = ['--input-type=module', '-e', script];
  return execFileSync(node, args, { cwd: checkout, encoding: 'utf8' });
}

/** The mirror of Debian that apt has here, as a machine may reach no other; empty: that of debootstrap. */
function mirror(): string {
  const files = "--include='*.list' --include='*.sources' /etc/apt/sources.list*";
  const find = `grep -rhosE 'https?://\\S+/debian/?(\\s|$)' ${files} | head -n 1`;
  return execFileSync('sh', ['-c', find], { encoding: 'utf8' }).trim();
}

/** Errors alone are shown. */
const quiet = ['ignore', 'ignore', 'inherit'] as const;

/** A Debian 13 in `folder`, made if it is not there yet. */
function prepareDebian(folder: string): void {
  const done = join(folder, '.tandem-ready');
  const isRoot = process.getuid?.() === 0;
  if (isRoot && existsSync(done)) return;
  const debootstrap = findProgram('debootstrap');
  if (!isRoot || debootstrap === undefined) {
    give(
      'uWebSockets.js needs a newer glibc: be root with debootstrap for a Debian 13, or add --no-native',
    );
  }
  rmSync(folder, { recursive: true, force: true });
  const from = ['--variant=minbase', '--include=ca-certificates', 'trixie', folder, mirror()];
  console.log(`making a Debian 13 in ${folder}`);
  execFileSync(debootstrap, from, { stdio: [...quiet] });
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  for (const args of [['update'], ['-y', 'install', '--no-install-recommends', ...programs]]) {
    const command = ['apt-get', '-qq', '-o', 'Acquire::Retries=3', ...args];
    execFileSync('chroot', [folder, ...command], { stdio: [...quiet], env });
  }
  writeFileSync(done, '');
}

/**
 * Mounts what the tests need into the Debian and runs them there. The mounts and processes are in namespaces of their
 * own, so they end with the run, however it ends.
 *
 *     $1 Debian, $2 checkout, $3 folder of node, $4 folder of npm; the rest is the command
 */
const inDebian = `
set -e
debian=$1 checkout=$2 node=$3 npm=$4
shift 4
# First: the checkout may lie in /tmp.
mount -t tmpfs tmpfs "$debian/tmp"
mkdir -p "$debian$checkout" "$debian/opt/node" "$debian/opt/npm"
mount --bind "$checkout" "$debian$checkout"
# Not the one of the checkout: its copies have the ids of processes that cannot be seen in there.
mkdir -p "$checkout/.build"
mount -t tmpfs tmpfs "$debian$checkout/.build"
mount --bind "$node" "$debian/opt/node"
mount --bind "$npm" "$debian/opt/npm"
mount -t proc proc "$debian/proc"
mount --rbind /sys "$debian/sys"
mount --rbind /dev "$debian/dev"
ln -sf /opt/npm/bin/npm-cli.js "$debian/usr/local/bin/npm"
export PATH=/opt/node:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TMPDIR=/tmp
exec chroot "$debian" sh -c 'cd "$1" && shift && exec "$@"' sh "$checkout" "$@"
`;

try {
  const [major = '', ...rest] = process.argv.slice(2);
  if (!/^\d+$/.test(major)) give('usage: npm run test:node -- MAJOR [arguments]');
  // What is downloaded is kept for the next run.
  const folder = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'tandem-test-node');
  const node = nodeOf(major, join(folder, `node-${major}`));
  const failure = rest.includes('--no-native') ? '' : nativeFailure(node);
  const test = ['--import', 'tsx', 'scripts/test.ts', ...rest];
  const path = `${dirname(node)}${delimiter}${process.env.PATH}`;
  if (!failure.includes('GLIBC_')) {
    const env = { ...process.env, PATH: path };
    endWith(spawn(node, test, { cwd: checkout, env, stdio: 'inherit' }));
  } else {
    const debian = join(folder, 'debian-13');
    prepareDebian(debian);
    for (const file of ['/etc/resolv.conf', '/etc/hosts']) copyFileSync(file, join(debian, file));
    const npm = resolve(realpathSync(findProgram('npm') ?? give('npm is not there')), '../..');
    const namespaces = ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', inDebian, 'sh'];
    const places = [debian, checkout, dirname(node), npm];
    const command = ['node', ...test, '--native'];
    const args = [...namespaces, ...places, ...command];
    // unshare passes no signal on: SIGKILL ends it and all processes in its namespace.
    endWith(spawn('unshare', args, { cwd: checkout, stdio: 'inherit' }), 'SIGKILL');
  }
} catch (error) {
  give(messageOf(error));
}
