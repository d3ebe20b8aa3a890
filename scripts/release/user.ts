/** What a user does with the published packages. Each step fails with what it saw. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadUws } from '../../src/server/http/uws/load.ts';
import { Running } from '../../test/cli/process.ts';
import { run } from '../run.ts';

/** Most that an installation may take, in MB of disk. */
const mostMb = 120;
/** Most seconds from `npm create tandem-rpc` to the first answer. A busy machine may take longer: no failure. */
const mostSeconds = 60;

/**
 * @param root the repository's folder
 * @param folder for the projects
 * @param env of npm, with the registry that has the packages
 */
export async function rehearse(
  root: string,
  folder: string,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const { reason } = await loadUws();
  if (reason !== undefined) console.log(`without uWebSockets.js here: ${reason}`);
  const project = (name: string, manifest?: object): Project => {
    const made = new Project(join(folder, name), env);
    if (manifest !== undefined) made.write('package.json', JSON.stringify(manifest));
    return made;
  };
  // First, while npm's cache is empty.
  await create(project('create'));
  if (reason === undefined) {
    const overrides = { 'uWebSockets.js': 'file:../authors-build' };
    const build = project('authors-build');
    await useOverride(project('overrides', { type: 'module', overrides }), build, root);
  }
  await serveWithoutBinary(project('no-binary', { type: 'module' }));
}

/** The groups of processes that serve. */
const serving = new Set<number>();
process.on('exit', () => {
  for (const group of serving) process.kill(-group);
});

/** `npm create tandem-rpc`, and all that the project's README tells. */
async function create(home: Project): Promise<void> {
  const began = performance.now();
  const seconds = (): number => Math.round((performance.now() - began) / 100) / 10;
  const said = await home.npm('create', '--yes', 'tandem-rpc', 'my-service');
  assert.match(said, /^Next:\n {2}cd my-service\n {2}npm install\n {2}npm run dev /m);
  const project = new Project(join(home.folder, 'my-service'), home.env);
  await project.npm('install');
  await project.serve(['run', '--silent', 'dev'], async (url, transport) => {
    assert.equal(await project.call(url, 'greet', 'Ada'), '"Hello, Ada!"\n');
    const isMet = seconds() <= mostSeconds ? 'met' : 'MISSED';
    console.log(
      `npm create tandem-rpc: first answer after ${seconds()} s (target ${mostSeconds}: ${isMet}), served by ${transport}`,
    );
    const client = new Project(project.folder, { ...project.env, RPC_URL: url });
    const printed = await client.npm('run', '--silent', 'client');
    assert.equal(printed, 'Hello, Ada!\n{ count: 3, mean: 2 }\n');
  });
  assert.match(await project.npm('test'), /pass 4\n/);
  await project.npm('run', 'check');
  await project.report('a project of npm create, with TypeScript');
}

/**
 * SECURITY.md, "Use the authors' build".
 *
 * @param build gets a package of the form that they publish
 */
async function useOverride(project: Project, build: Project, root: string): Promise<void> {
  const uws = join(root, 'node_modules/uWebSockets.js');
  const binary = `uws_${process.platform}_${process.arch}_${process.versions.modules}.node`;
  for (const file of ['uws.js', 'index.d.ts', 'LICENSE', binary]) {
    copyFileSync(join(uws, file), join(build.folder, file));
  }
  const own = { name: 'uWebSockets.js', version: '20.99.0', main: 'uws.js' };
  build.write('package.json', JSON.stringify(own));
  await project.npm('install', 'tandem-rpc');
  const manifest = join(project.folder, 'node_modules/uWebSockets.js/package.json');
  const installed = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string };
  assert.equal(installed.version, own.version);
  assert.deepEqual(project.natives, []);
  project.writeHello();
  await project.serve(['exec', '--', 'tandem', 'serve', 'hello.js'], (_url, transport) => {
    assert.equal(transport, 'uWebSockets.js');
  });
  console.log('overrides: another build is installed and serves, and no package of ours beside it');
}

/** node:http serves where the native package, or all of uWebSockets.js, is missing; the log says why. */
async function serveWithoutBinary(project: Project): Promise<void> {
  project.writeHello();
  const serves = (why: RegExp): Promise<void> =>
    project.serve(['exec', '--', 'tandem', 'serve', 'hello.js'], async (url, transport, log) => {
      assert.equal(transport, 'node:http');
      assert.match(log, why);
      assert.equal(await project.call(url, 'hello'), '"Hello"\n');
    });
  await project.npm('install', '--omit=optional', 'tandem-rpc');
  await serves(/uWebSockets\.js cannot load: it is not installed; install without --omit=optional/);
  await project.npm('install');
  await project.report('npm install tandem-rpc');
  for (const name of project.natives) {
    rmSync(join(project.folder, 'node_modules', name), { recursive: true });
    await serves(new RegExp(`cannot load: its package ${name} is not installed; `));
  }
  console.log('without the binary: node:http serves, and the log says why');
}

class Project {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;

  constructor(folder: string, env: NodeJS.ProcessEnv) {
    mkdirSync(folder, { recursive: true });
    this.folder = folder;
    this.env = env;
  }

  /** The packages of one platform that are installed. */
  get natives(): string[] {
    const modules = readdirSync(join(this.folder, 'node_modules'));
    return modules.filter((name) => name.startsWith('tandem-rpc-uws-'));
  }

  write(file: string, text: string): void {
    writeFileSync(join(this.folder, file), text);
  }

  writeHello(): void {
    const lines = [
      "import { Router } from 'tandem-rpc';",
      'const router = new Router();',
      "router.rpc(function hello() { return 'Hello'; });",
      'export default router;',
    ];
    this.write('hello.js', lines.join('\n'));
  }

  async npm(...args: string[]): Promise<string> {
    return (await run('npm', args, { cwd: this.folder, env: this.env })).stdout;
  }

  async call(url: string, ...call: string[]): Promise<string> {
    const tandem = join(this.folder, 'node_modules/.bin/tandem');
    return (await run(tandem, ['call', url, ...call], { cwd: this.folder, env: this.env })).stdout;
  }

  /** Serves by a command of npm, on a free port, for as long as `use` takes. */
  async serve(
    args: readonly string[],
    use: (url: string, transport: string, log: string) => void | Promise<void>,
  ): Promise<void> {
    // In a group of its own: npm does not pass a signal on to what its scripts started.
    const child = spawn('npm', args, {
      cwd: this.folder,
      env: { ...this.env, PORT: '0' },
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const group = Number(child.pid);
    serving.add(group);
    const server = new Running(child);
    try {
      const listens = /"event":"serving".* listens on (\S+) \(([^,]+),/;
      const [, url = '', transport = ''] = await server.seen('stderr', listens);
      await use(url, transport, server.stderr);
    } finally {
      if (child.exitCode === null) process.kill(-group);
      await server.exit;
      serving.delete(group);
    }
  }

  /**
   * Prints what the installation takes.
   *
   * @throws Error if it is too large
   */
  async report(what: string): Promise<void> {
    const args = ['-s', '-B', '1000', 'node_modules'];
    const { stdout } = await run('du', args, { cwd: this.folder });
    const mb = Number.parseInt(stdout, 10) / 1000;
    console.log(`${what}: ${mb.toFixed(1)} MB installed (at most ${mostMb})`);
    assert.ok(mb <= mostMb, `${what} takes ${mb} MB, more than ${mostMb}`);
  }
}
