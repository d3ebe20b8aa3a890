import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { root } from '../files.ts';

/** What a page loads of the client. */
const core: readonly string[] = ['index'];
const whole: readonly string[] = [...core, 'sse', 'socket'];
/**
 * 375 bytes above 3 KB, 3.75 KB and 5 KB: errors that say which option was forgotten, `streams` or `hints`, or that the URL has a wrong
 * scheme, and the check of a `traceparent`. Without the errors a forgotten option is found in the answers of the server, or in the end of the process.
 */
const limits: readonly (readonly [what: string, modules: readonly string[], bytes: number])[] = [
  ['3.375 KB', core, 3456],
  ['4.125 KB with streams over fetch', [...core, 'sse'], 4224],
  ['5.25 KB with streams over fetch and WebSocket', whole, 5376],
  ['1.2 KB for TanStack Query, without the client', ['tanstack'], 1229],
];

/** The client as a page would carry it. */
async function bundle(modules: readonly string[]) {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    stdin: {
      contents: modules.map((name) => `export * from './src/client/${name}.ts';`).join('\n'),
      resolveDir: root,
    },
    bundle: true,
    minify: true,
    format: 'esm',
    // Node's own modules can't be resolved for it: an import of one fails here.
    platform: 'browser',
    external: modules.includes('tanstack') ? ['@tanstack/query-core'] : [],
    target: 'es2022',
    write: false,
    metafile: true,
  });
  const inputs = Object.keys(metafile.inputs).filter((name) => name !== '<stdin>');
  return { code: outputFiles[0]!.contents, inputs };
}

describe('tandem-rpc/client', () => {
  for (const [what, modules, limit] of limits) {
    it(`takes at most ${what}`, async (t) => {
      const { code } = await bundle(modules);
      const bytes = gzipSync(code, { level: 9 }).byteLength;
      t.diagnostic(`${bytes} bytes gzipped, ${code.byteLength} minified`);
      assert.ok(bytes <= limit, `${bytes} bytes`);
    });
  }

  it('is made of its own files alone', async () => {
    const { inputs } = await bundle(whole);
    assert.deepEqual(
      inputs.filter((file) => !file.startsWith('src/client/') || file.includes('codegen')),
      [],
    );
    assert.ok(inputs.includes('src/client/client.ts'));
  });

  it('has no code of the client in its part for TanStack Query', async () => {
    assert.deepEqual((await bundle(['tanstack'])).inputs, ['src/client/tanstack.ts']);
  });

  it('runs where there is nothing but fetch, WebSocket and the web', async () => {
    const { code } = await bundle(whole);
    const text = Buffer.from(code).toString();
    assert.doesNotMatch(text, /\b(?:require|process|Buffer|globalThis|window|document|self)\b/);
  });
});
