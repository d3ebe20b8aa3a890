/** What a user does with the published packages. Each step fails with what it saw. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { loadUws } from '../../src/server/http/uws/load.ts';
import { npm, run } from './run.ts';

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
  const user = new User(root, folder, env, reason === undefined ? 'uWebSockets.js' : 'node:http');
  await user.creates();
  await user.followsTheGuide();
  await user.usesNpx();
  await user.adds();
  await user.takesAnotherBuild();
  await user.hasNoBinary();
  user.installsTheClient();
}

/** The process groups of servers that run. */
const serving = new Set<number>();
process.on('exit', () => {
  for (const group of serving) process.kill(-group);
});

class User {
  readonly #root: string;
  readonly #folder: string;
  readonly #env: NodeJS.ProcessEnv;
  /** What serves with the binaries of the registry: not every system can load them. */
  readonly #transport: 'uWebSockets.js' | 'node:http';

  constructor(
    root: string,
    folder: string,
    env: NodeJS.ProcessEnv,
    transport: 'uWebSockets.js' | 'node:http',
  ) {
    this.#root = root;
    this.#folder = folder;
    this.#env = env;
    this.#transport = transport;
  }

  /** First, while npm's cache is empty: `npm create tandem-rpc`, and all that the project's README tells. */
  async creates(): Promise<void> {
    const began = performance.now();
    const home = this.#project('create');
    const said = this.#npm(home, 'create', '--yes', 'tandem-rpc', 'my-service');
    const created = secondsSince(began);
    assert.match(said, /^Next:\n {2}cd my-service\n {2}npm install\n {2}npm run dev /m);
    const cwd = join(home, 'my-service');
    this.#npm(cwd, 'install');
    const installed = secondsSince(began);
    await this.#serving(cwd, ['run', '--silent', 'dev'], async (url, transport) => {
      assert.equal(this.#call(cwd, url, 'greet', 'Ada'), '"Hello, Ada!"\n');
      const first = secondsSince(began);
      const parts = `written after ${created}, installed after ${installed}`;
      const isMet = first <= mostSeconds ? 'met' : 'MISSED';
      console.log(
        `npm create tandem-rpc: first answer after ${first} s (${parts}; target ${mostSeconds}: ${isMet}), served by ${transport}`,
      );
      assert.equal(
        run('npm', ['run', '--silent', 'client'], { cwd, env: { ...this.#env, RPC_URL: url } }),
        'Hello, Ada!\n{ count: 3, mean: 2 }\n',
      );
    });
    assert.match(this.#npm(cwd, 'test'), /pass 4\n/);
    this.#npm(cwd, 'run', 'check');
    report(cwd, 'a project of npm create, with TypeScript');
  }

  /** docs/guide/first-service.md. */
  async followsTheGuide(): Promise<void> {
    const cwd = this.#project('guide');
    const page = readFileSync(join(this.#root, 'docs/guide/first-service.md'), 'utf8');
    const [, commands = ''] = /```console\n((?:\$ npm .*\n)+)```/.exec(page) ?? [];
    const lines = commands.trim().split('\n');
    assert.ok(lines.length >= 3, 'the commands of the guide');
    for (const line of lines) {
      // The registry of the rehearsal has the package.
      const typed = line.replace('$ npm ', '').replace(/\S+\/(tandem-rpc)-[\d.]+\.tgz/, '$1');
      this.#npm(cwd, ...typed.split(' '));
    }
    const program = (file: string): string =>
      new RegExp(`\`\`\`ts\\n(// ${file}\\n[\\s\\S]*?)\`\`\``).exec(page)?.[1] ?? '';
    for (const file of ['hello.ts', 'client.ts']) writeFileSync(join(cwd, file), program(file));
    await this.#serving(cwd, ['exec', '--', 'tandem', 'serve', 'hello.ts'], (url) => {
      assert.equal(this.#call(cwd, url, 'greet', 'Ada'), '"Hello, Ada!"\n');
      this.#npm(cwd, 'exec', '--', 'tandem', 'codegen', 'hello.ts', '--out', 'api.ts');
      writeFileSync(
        join(cwd, 'client.ts'),
        program('client.ts').replace('http://127.0.0.1:8000/rpc', url),
      );
      assert.equal(this.#npm(cwd, 'exec', '--', 'tsx', 'client.ts'), 'Hello, Ada!\n');
    });
    report(cwd, 'npm install tandem-rpc tsx');
  }

  /** `npx`, in a folder with nothing. */
  async usesNpx(): Promise<void> {
    const began = performance.now();
    const home = this.#project('npx');
    this.#npm(home, 'exec', '--yes', '--package=tandem-rpc', '--', 'tandem', 'init', 'shop');
    const cwd = join(home, 'shop');
    this.#npm(cwd, 'install');
    await this.#serving(cwd, ['start', '--silent'], (url) => {
      assert.equal(this.#call(cwd, url, 'greet', 'Ada'), '"Hello, Ada!"\n');
      console.log(`npx tandem init: first answer after ${secondsSince(began)} s`);
    });
  }

  /** docs/codegen.md, "In a project that exists": CommonJS by default. */
  async adds(): Promise<void> {
    const cwd = this.#project('add');
    this.#npm(cwd, 'init', '-y');
    this.#npm(cwd, 'install', 'tandem-rpc', 'tsx');
    this.#npm(cwd, 'pkg', 'set', 'scripts.rpc=tandem serve src/procedures.mts');
    mkdirSync(join(cwd, 'src'));
    this.#writeHello(cwd, 'src/procedures.mts');
    await this.#serving(cwd, ['run', '--silent', 'rpc'], (url, transport) => {
      assert.equal(transport, this.#transport);
      assert.equal(this.#call(cwd, url, 'hello'), '"Hello"\n');
    });
    console.log('a project that exists: served and called');
    if (this.#transport === 'node:http') return;
    const exported = "import uws from 'uWebSockets.js'; console.log(typeof uws.App)";
    assert.equal(this.#node(cwd, exported), 'function\n');
    console.log("import 'uWebSockets.js': as before");
  }

  /** SECURITY.md, "Use the authors' build": a package of the form that they publish. */
  async takesAnotherBuild(): Promise<void> {
    const build = this.#project('authors-build');
    const uws = join(this.#root, 'node_modules/uWebSockets.js');
    const { modules } = process.versions;
    const binary = `uws_${process.platform}_${process.arch}_${modules}.node`;
    if (!existsSync(join(uws, binary))) {
      console.log(`overrides: not tried, there is no binary for this Node (ABI ${modules})`);
      return;
    }
    for (const file of ['uws.js', 'index.d.ts', 'LICENSE', binary]) {
      copyFileSync(join(uws, file), join(build, file));
    }
    const own = { name: 'uWebSockets.js', version: '20.99.0', main: 'uws.js' };
    writeFileSync(join(build, 'package.json'), JSON.stringify(own));
    const cwd = this.#project('overrides');
    const overrides = { 'uWebSockets.js': 'file:../authors-build' };
    writeFileSync(join(cwd, 'package.json'), JSON.stringify({ type: 'module', overrides }));
    this.#npm(cwd, 'install', 'tandem-rpc');
    const installed = readFileSync(join(cwd, 'node_modules/uWebSockets.js/package.json'), 'utf8');
    assert.equal((JSON.parse(installed) as { version: string }).version, own.version);
    assert.deepEqual(nativePackages(cwd), []);
    this.#writeHello(cwd);
    await this.#serving(cwd, ['exec', '--', 'tandem', 'serve', 'hello.js'], (_url, transport) => {
      assert.equal(transport, this.#transport);
    });
    console.log(
      'overrides: another build is installed and serves, and no package of ours beside it',
    );
  }

  /** node:http serves where the native package, or all of uWebSockets.js, is missing; the log says why. */
  async hasNoBinary(): Promise<void> {
    const cwd = this.#project('no-binary');
    writeFileSync(join(cwd, 'package.json'), '{"type":"module"}');
    this.#writeHello(cwd);
    const serves = (why: RegExp) =>
      this.#serving(cwd, ['exec', '--', 'tandem', 'serve', 'hello.js'], (url, transport, log) => {
        assert.equal(transport, 'node:http');
        assert.match(log, why);
        assert.equal(this.#call(cwd, url, 'hello'), '"Hello"\n');
      });
    this.#npm(cwd, 'install', '--omit=optional', 'tandem-rpc');
    await serves(
      /uWebSockets\.js cannot load: it is not installed; install without --omit=optional/,
    );
    this.#npm(cwd, 'install');
    for (const name of nativePackages(cwd)) {
      rmSync(join(cwd, 'node_modules', name), { recursive: true });
      await serves(new RegExp(`cannot load: its package ${name} is not installed; `));
    }
    console.log('without the binary: node:http serves, and the log says why');
  }

  /** The client alone, for pages. */
  installsTheClient(): void {
    const cwd = this.#project('client');
    writeFileSync(join(cwd, 'package.json'), '{"type":"module"}');
    this.#npm(cwd, 'install', 'tandem-rpc-client');
    const program =
      "import { createClient } from 'tandem-rpc-client'; console.log(typeof createClient)";
    assert.equal(this.#node(cwd, program), 'function\n');
    report(cwd, 'npm install tandem-rpc-client');
  }

  #project(name: string): string {
    const cwd = join(this.#folder, name);
    mkdirSync(cwd);
    return cwd;
  }

  #writeHello(cwd: string, file = 'hello.js'): void {
    const lines = [
      "import { Router } from 'tandem-rpc';",
      'const router = new Router();',
      "router.rpc(function hello() { return 'Hello'; });",
      'export default router;',
    ];
    writeFileSync(join(cwd, file), lines.join('\n'));
  }

  #npm(cwd: string, ...args: string[]): string {
    return npm(args, { cwd, env: this.#env });
  }

  #node(cwd: string, program: string): string {
    return run(process.execPath, ['--input-type=module', '-e', program], { cwd, env: this.#env });
  }

  #call(cwd: string, url: string, ...call: string[]): string {
    const tandem = join(cwd, 'node_modules/.bin/tandem');
    return run(tandem, ['call', url, ...call], { cwd, env: this.#env });
  }

  /** Serves by a command of npm, on a free port, for as long as `use` takes. */
  async #serving(
    cwd: string,
    args: readonly string[],
    use: (url: string, transport: string, log: string) => void | Promise<void>,
  ): Promise<void> {
    const env = { ...this.#env, PORT: '0' };
    // In a group of its own: npm does not pass a signal on to what its scripts started.
    const child = spawn('npm', args, {
      cwd,
      env,
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const group = Number(child.pid);
    serving.add(group);
    const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
    let log = '';
    try {
      const [, url = '', transport = ''] = await new Promise<RegExpExecArray>((resolve, reject) => {
        child.stderr.setEncoding('utf8').on('data', (text: string) => {
          log += text;
          const found = /"event":"serving".* listens on (\S+) \(([^,]+),/.exec(log);
          if (found) resolve(found);
        });
        child.once('error', reject);
        child.once('close', (code) =>
          reject(new Error(`npm ${args.join(' ')} ended with ${code}\n${log}`)),
        );
      });
      await use(url, transport, log);
    } finally {
      if (child.exitCode === null) process.kill(-group);
      await ended;
      serving.delete(group);
    }
  }
}

function secondsSince(began: number): number {
  return Math.round((performance.now() - began) / 100) / 10;
}

/** The packages of one platform that are installed. */
function nativePackages(cwd: string): string[] {
  return readdirSync(join(cwd, 'node_modules')).filter((name) =>
    name.startsWith('tandem-rpc-uws-'),
  );
}

/**
 * Bytes on the disk, as `du` counts them.
 *
 * @param linked files with several names that were counted: esbuild links its binary into a second package
 */
function sizeOf(path: string, linked: Set<number>): number {
  const found = lstatSync(path);
  if (found.nlink > 1 && !found.isDirectory()) {
    if (linked.has(found.ino)) return 0;
    linked.add(found.ino);
  }
  const own = found.blocks * 512;
  if (!found.isDirectory()) return own;
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name), linked), own);
}

/**
 * Prints what an installation takes, and its largest packages.
 *
 * @throws Error if it is too large
 */
function report(cwd: string, what: string): void {
  const modules = join(cwd, 'node_modules');
  const mb = (bytes: number): string => (bytes / 1e6).toFixed(1);
  const names = readdirSync(modules).flatMap((name) =>
    name.startsWith('@') ? readdirSync(join(modules, name)).map((own) => `${name}/${own}`) : name,
  );
  const linked = new Set<number>();
  const sizes = names
    .map((name) => ({ name, bytes: sizeOf(join(modules, name), linked) }))
    .sort((a, b) => b.bytes - a.bytes);
  const total = sizeOf(modules, new Set());
  console.log(`${what}: ${mb(total)} MB installed (at most ${mostMb})`);
  for (const { name, bytes } of sizes.slice(0, 6))
    console.log(`  ${mb(bytes).padStart(6)}  ${name}`);
  assert.ok(total <= mostMb * 1e6, `${what} takes ${mb(total)} MB, more than ${mostMb}`);
}
