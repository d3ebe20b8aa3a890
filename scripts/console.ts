/**
 * Builds the page of the console: `console/` becomes `dist/console`, each file compressed by Brotli beside a manifest of
 * their types. Browsers load the page from the service itself, from nowhere else.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import { build } from 'vite';

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
};

/**
 * @param root the repository's folder
 * @param to the folder that is to be `dist/console`
 */
export async function buildConsole(root: string, to: string): Promise<void> {
  const built = await build({
    configFile: false,
    root: join(root, 'console'),
    base: './',
    logLevel: 'warn',
    oxc: { jsx: { importSource: 'preact' } },
    build: {
      write: false,
      target: 'es2023',
      assetsDir: '.',
      cssCodeSplit: false,
      // The page has no inline script, and no other page's assets.
      modulePreload: { polyfill: false },
      assetsInlineLimit: 0,
      rolldownOptions: {
        output: {
          entryFileNames: 'index-[hash].js',
          chunkFileNames: '[name]-[hash].js',
          assetFileNames: 'index-[hash][extname]',
        },
      },
    },
  });
  const [result] = Array.isArray(built) ? built : [built];
  if (result === undefined || !('output' in result)) throw new Error('vite built nothing');
  rmSync(to, { recursive: true, force: true });
  mkdirSync(to, { recursive: true });
  const manifest: Record<string, string> = {};
  for (const file of result.output) {
    const { fileName } = file;
    const bytes = Buffer.from(file.type === 'chunk' ? file.code : file.source);
    manifest[fileName] = types[fileName.split('.').at(-1) ?? ''] ?? 'application/octet-stream';
    const params = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
    writeFileSync(join(to, `${fileName}.br`), brotliCompressSync(bytes, { params }));
  }
  writeFileSync(join(to, 'manifest.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
}
