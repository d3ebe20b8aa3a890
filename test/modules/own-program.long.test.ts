import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { compiledTree, userEnvironment } from '../compiled.ts';
import { patience } from '../patience.ts';
import { ModuleFolder } from './module-folder.ts';

/** A program that serves itself. What its start throws. */
async function startOf(t: { after(clean: () => void): void }, start: string): Promise<string> {
  const tree = pathToFileURL(`${await compiledTree()}/`);
  const entry = JSON.stringify(new URL('src/index.js', tree).href);
  const program = new ModuleFolder(t).write(
    'program.mjs',
    `import { isMainThread } from 'node:worker_threads';
     import { Router, RpcApp } from ${entry};
     const router = new Router();
     router.rpc(function add({ a, b }) { return a + b; });
     export default router;
     const app = new RpcApp({ modules: [import.meta.filename ?? new URL(import.meta.url).pathname], port: 0, logLevel: 'silent', ...${JSON.stringify(patience)} });
     ${start}`,
  );
  const child = spawn(process.execPath, [program], {
    env: userEnvironment(),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  await once(child, 'close');
  return output;
}

test('a program that is its own module and awaits listen() is told to start the service in another file', async (t) => {
  const awaited = await startOf(t, 'await app.listen();');
  assert.match(awaited, /it awaits the start, .*; start the service in another file/);
});

test('a program that is its own module and does not await listen() starts', async (t) => {
  const then = 'console.error("listens"); process.exit();';
  const output = await startOf(t, `if (isMainThread) app.listen().then(() => { ${then} });`);
  assert.equal(output, 'listens\n');
});
