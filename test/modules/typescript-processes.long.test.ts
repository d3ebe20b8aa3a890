import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { workerExecArgv } from '../../src/core/modules/typescript.ts';
import { compiledTree, userEnvironment } from '../compiled.ts';
import { patience } from '../patience.ts';
import { ModuleFolder, routerModule } from './module-folder.ts';

/** Two packages of one repository, of which the first has paths of its own. */
function writeMonorepo(folder: ModuleFolder): void {
  folder.write('tsconfig.json', '{ "compilerOptions": { "target": "es2022" } }');
  const paths = '"baseUrl": ".", "paths": { "~/*": ["src/*"] }';
  const extended = `{ "extends": "../../tsconfig.json", /* its own */ "compilerOptions": { ${paths} } }`;
  folder.write('packages/a/tsconfig.json', extended);
  folder.write('packages/a/src/seven.ts', 'export const value: number = 7;');
  const text = routerModule('seven', 'value as number', "import { value } from '~/seven';");
  folder.write('packages/a/src/procedures.ts', text);
  folder.write('packages/b/tsconfig.json', '{}');
  folder.write('packages/b/procedures.ts', routerModule('eight', '8 as number'));
}

/** Serves the modules in a process without tsx that was started in the repository's folder; what it wrote. */
async function servedFrom(
  folder: ModuleFolder,
  modules: readonly string[],
  flags: readonly string[] = [],
): Promise<string> {
  const tree = pathToFileURL(`${await compiledTree()}/`);
  const script = folder.write(
    'serve.mjs',
    `import { Dispatcher } from ${JSON.stringify(new URL('src/index.js', tree).href)};
     const dispatcher = new Dispatcher({ modules: ${JSON.stringify(modules)}, workers: 1, spareWorkers: 0, logLevel: 'silent', ...${JSON.stringify(patience)} });
     try {
       await dispatcher.ready();
       console.log(await dispatcher.dispatchText('{"method":"seven","id":1}'), process.env.TSX_TSCONFIG_PATH);
     } catch (error) {
       console.log(error.message);
     }
     await dispatcher.close();`,
  );
  const child = spawn(process.execPath, [...flags, script], {
    cwd: folder.path,
    env: userEnvironment(),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  await once(child, 'close');
  return output;
}

test('the paths of the first module, by the tsconfig.json nearest to it, hold in the main thread and in workers', async (t) => {
  const folder = new ModuleFolder(t);
  writeMonorepo(folder);
  const modules = ['packages/a/src/procedures.ts', 'packages/b/procedures.ts'];
  assert.equal(
    await servedFrom(folder, modules),
    '{"jsonrpc":"2.0","id":1,"result":7} undefined\n',
  );
  assert.equal(
    await servedFrom(folder, modules.toReversed()),
    'cannot load packages/a/src/procedures.ts: it imports ~, one of the paths of packages/a/tsconfig.json, which leads ' +
      'to no file: correct it there, or start with TSX_TSCONFIG_PATH=packages/a/tsconfig.json where another ' +
      "tsconfig.json is the first module's (packages/a/src/procedures.ts:2)\n",
  );
});

test('workers that load TypeScript get the flags of node, except for those that a thread refuses', async (t) => {
  const folder = new ModuleFolder(t);
  const own = 'process.execArgv.filter((flag: string) => !flag.startsWith("data:"))';
  const module = folder.write('a.ts', routerModule('seven', own));
  const kept = ['--experimental-websocket', '--no-warnings', '--conditions', 'special'];
  const refused = ['--max-old-space-size=300', '--title', 'a title', '--expose-gc'];
  const ofProgram = ['--inspect=0', '--input-type=module'];
  const output = await servedFrom(folder, [module], [...kept, ...refused]);
  assert.deepEqual(JSON.parse(output.split(' undefined')[0] ?? '').result, [...kept, '--import']);
  for (const flag of ofProgram) {
    process.execArgv.push(flag);
    try {
      assert.ok(!workerExecArgv([module])?.includes(flag));
    } finally {
      process.execArgv.pop();
    }
  }
});
