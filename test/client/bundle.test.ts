import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { root } from '../files.ts';

/** The client as a page would carry it. */
async function bundle() {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: ['src/client/index.ts'],
    bundle: true,
    minify: true,
    format: 'esm',
    // Node's own modules can't be resolved for it: an import of one fails here.
    platform: 'browser',
    target: 'es2022',
    write: false,
    metafile: true,
  });
  return { code: outputFiles[0]!.contents, inputs: Object.keys(metafile.inputs) };
}

describe('tandem-rpc/client', () => {
  it('takes at most 3 KB', async (t) => {
    const { code } = await bundle();
    const bytes = gzipSync(code, { level: 9 }).byteLength;
    t.diagnostic(`${bytes} bytes gzipped, ${code.byteLength} minified`);
    assert.ok(bytes <= 3072, `${bytes} bytes`);
  });

  it('is made of its own files alone', async () => {
    const { inputs } = await bundle();
    assert.deepEqual(
      inputs.filter((file) => !file.startsWith('src/client/') || file.includes('codegen')),
      [],
    );
    assert.ok(inputs.includes('src/client/client.ts'));
  });

  it('runs where there is nothing but fetch and the web', async () => {
    const { code } = await bundle();
    const text = Buffer.from(code).toString();
    assert.doesNotMatch(text, /\b(?:require|process|Buffer|globalThis|window|document|self)\b/);
  });
});
