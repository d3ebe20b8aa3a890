import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { root, temporaryFolder } from '../files.ts';
import { patienceVariables } from '../patience.ts';
import { callAt } from '../post-json.ts';
import { installPacked } from './packed.ts';
import { Running, startNode } from './process.ts';

describe('tandem init, from the packed package', () => {
  const folder = temporaryFolder({ after });
  let main = '';
  before(async () => {
    main = await installPacked(folder);
  });

  /** A process of a user: nothing of this test run's own loaders. */
  function start(
    command: string,
    args: string[],
    cwd: string,
    env: NodeJS.ProcessEnv = {},
    detached = false,
  ): Running {
    const { NODE_OPTIONS: _options, NODE_TEST_CONTEXT: _context, ...inherited } = process.env;
    return new Running(
      spawn(command, args, { cwd, env: { ...inherited, ...patienceVariables, ...env }, detached }),
    );
  }
  const tandem = (args: string[], cwd = folder) => start(process.execPath, [main, ...args], cwd);

  it('writes scripts of which dev renews the types and shows internal errors, and start does neither', async (t) => {
    const project = join(folder, 'developed');
    assert.equal((await tandem(['init', project]).exit).code, 0);
    const source = readFileSync(join(project, 'procedures.ts'), 'utf8');
    const save = (text: string) => writeFileSync(join(project, 'procedures.ts'), text);
    const types = () => readFileSync(join(project, 'api.ts'), 'utf8');
    const failing = source
      .replace("auth?.name ?? ''", "JSON.parse('{')")
      .replace(/authorize[\s\S]*?},\n/, '');
    assert.notEqual(failing, source);
    const fault = async (url: string): Promise<unknown> => (await callAt(url, 'whoAmI')).error;
    const env = { PORT: '0', TANDEM_WORKERS: '1' };
    const run = (script: string) => {
      // In a group of its own: npm does not pass a signal on to what its scripts started.
      const args = ['run', '--silent', '--offline', script];
      const server = start('npm', args, project, env, true);
      t.after(async () => {
        process.kill(-Number(server.child.pid));
        await server.exit;
      });
      return server;
    };
    const dev = run('dev');
    const [, url = ''] = await dev.seen('stderr', /listens on (http:\S+) /);
    assert.ok(!types().includes('mean: string'));
    save(failing.replace('mean: Type.Number', 'mean: Type.String'));
    await dev.seen('stderr', /wrote api\.ts: 3 procedures/);
    assert.match(types(), /mean: string;/);
    const { code, data } = (await fault(url)) as { code: number; data: { message: string } };
    assert.equal(code, -32603);
    assert.match(data.message, /JSON/);

    save(failing);
    await dev.seen('stderr', /(?:wrote api\.ts[\s\S]*){2}/);
    const [, served = ''] = await run('start').seen('stderr', /listens on (http:\S+) /);
    writeFileSync(join(project, 'mine.ts'), 'mine');
    const refused = tandem(['serve', 'procedures.ts', '--codegen', 'mine.ts'], project);
    const { code: exit, stdout, stderr } = await refused.exit;
    assert.deepEqual([exit, stdout], [1, '']);
    assert.match(stderr, /^tandem: mine\.ts was not written by tandem codegen: .+\n$/);
    const told = (await fault(served)) as { code: number; data?: { message?: string } };
    assert.equal(told.code, -32603);
    assert.equal(told.data?.message, undefined);
  });

  describe('depends on', () => {
    const dependenciesIn = async (project: string): Promise<Record<string, string>> => {
      const { code, stderr } = await tandem(['init', project]).exit;
      assert.deepEqual([code, stderr], [0, '']);
      const text = readFileSync(join(folder, project, 'package.json'), 'utf8');
      return (JSON.parse(text) as { dependencies: Record<string, string> }).dependencies;
    };
    /** What npm notes of an installed package. */
    const note = (resolved: string): void => {
      const lock = { lockfileVersion: 3, packages: { 'node_modules/tandem-rpc': { resolved } } };
      writeFileSync(join(folder, 'node_modules/.package-lock.json'), JSON.stringify(lock));
    };
    after(() => rmSync(join(folder, 'node_modules/.package-lock.json')));

    it('the tarball that this copy was installed from', async () => {
      const own = readdirSync(folder).find((name) => name.endsWith('.tgz'));
      note(`file:${own}`);
      for (const [project, up] of [
        ['a', '..'],
        ['deep/er', '../..'],
      ] as const) {
        assert.deepEqual(await dependenciesIn(project), { 'tandem-rpc': `file:${up}/${own}` });
      }
    });

    it('the version, where that is gone or it came from the registry', async () => {
      const own = readFileSync(join(folder, 'node_modules/tandem-rpc/package.json'), 'utf8');
      const { version } = JSON.parse(own) as { version: string };
      note('file:gone.tgz');
      assert.deepEqual(await dependenciesIn('b'), { 'tandem-rpc': `^${version}` });
      note('https://registry.npmjs.org/tandem-rpc/-/tandem-rpc-0.1.0.tgz');
      assert.deepEqual(await dependenciesIn('c'), { 'tandem-rpc': `^${version}` });
    });

    it('the folder, in a clone', async () => {
      const project = join(folder, 'of a "clone"');
      const main = join(root, 'src/cli/main.ts');
      assert.equal((await startNode([main, 'init', project]).exit).code, 0);
      const text = readFileSync(join(project, 'package.json'), 'utf8');
      const { dependencies } = JSON.parse(text) as { dependencies: Record<string, string> };
      const specifier = dependencies['tandem-rpc'] ?? '';
      assert.match(specifier, /^file:/);
      assert.equal(join(project, specifier.slice('file:'.length)), join(root, '.'));
    });
  });

  it('takes no name that npm refuses', async () => {
    assert.equal((await tandem(['init', 'tandem-rpc']).exit).code, 0);
    const text = readFileSync(join(folder, 'tandem-rpc/package.json'), 'utf8');
    assert.equal((JSON.parse(text) as { name: string }).name, 'tandem-service');
  });

  it('overwrites nothing', async () => {
    const taken = join(folder, 'taken');
    mkdirSync(taken);
    writeFileSync(join(taken, 'client.ts'), 'mine');
    const { code, stdout, stderr } = await tandem(['init', 'taken']).exit;
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(
      stderr,
      /^tandem: taken\/client\.ts exists already, and nothing was written; .+\n$/,
    );
    assert.deepEqual(readdirSync(taken), ['client.ts']);
    assert.equal(readFileSync(join(taken, 'client.ts'), 'utf8'), 'mine');

    writeFileSync(join(folder, 'file'), '');
    assert.match((await tandem(['init', 'file']).exit).stderr, /^tandem: file is a file; .+\n$/);
  });

  it('writes into the folder it is in, beside what does not collide', async () => {
    const here = join(folder, 'here');
    mkdirSync(here);
    writeFileSync(join(here, 'LICENSE'), 'mine');
    const { code, stdout } = await tandem(['init'], here).exit;
    assert.equal(code, 0);
    assert.doesNotMatch(stdout, /\bcd /);
    assert.ok(existsSync(join(here, '.gitignore')));
  });
});
