import assert from 'node:assert/strict';
import { test } from 'node:test';
import { moduleUrl } from '../files.ts';
import { runCli, startNode } from './process.ts';

/** Has a process believe that it runs on this version of Node. */
function onNode(version: string): string {
  const code = `const versions = { ...process.versions, node: '${version}' }; Object.defineProperty(process, 'versions', { value: versions })`;
  return `data:text/javascript,${encodeURIComponent(code)}`;
}

for (const version of ['16.20.2', '18.20.8']) {
  const line = `tandem-rpc needs Node 20 or later, and this is Node ${version}`;

  test(`Node ${version}: the command line says in one line that Node 20 is needed`, async () => {
    const env = { NODE_OPTIONS: `--import=${onNode(version)}` };
    const { code, stdout, stderr } = await runCli(['serve', 'nowhere.js', '--no-supervisor'], env);
    assert.deepEqual({ code, stdout, stderr }, { code: 1, stdout: '', stderr: `${line}\n` });
  });

  test(`Node ${version}: an app in code is a StartupError that says so`, async () => {
    const code = `
      const { RpcApp, Router } = await import('${moduleUrl('src/index.ts')}');
      try { await new RpcApp({ router: new Router() }).listen(); } catch (error) { console.log(error.name, error.message); }
    `;
    const args = [`--import=${onNode(version)}`, '--input-type=module', '--eval', code];
    const { stdout } = await startNode(args).exit;
    assert.equal(stdout, `StartupError ${line}\n`);
  });
}
