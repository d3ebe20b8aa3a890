/**
 * Builds the page of the console: `console/` becomes `dist/console`, each file compressed by Brotli beside a manifest of
 * their types. Browsers load the page from the service itself, from nowhere else.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import { build } from 'esbuild';

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
};

/**
 * @param root the repository's folder
 * @param to the folder that is to be `dist/console`
 */
export async function buildConsole(root: string, to: string): Promise<void> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: join(root, 'console'),
    entryPoints: ['main.tsx'],
    bundle: true,
    splitting: true,
    format: 'esm',
    target: 'es2023',
    minify: true,
    legalComments: 'none',
    define: { 'process.env.NODE_ENV': '"production"' },
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    outdir: to,
    metafile: true,
    write: false,
  });
  const files = new Map(outputFiles.map(({ path, contents }) => [basename(path), contents]));
  const outputs = new Map(
    Object.entries(metafile.outputs).map(([path, output]) => [basename(path), output]),
  );
  const [entry = ''] = [...files.keys()].filter(
    (name) => outputs.get(name)?.entryPoint === 'main.tsx',
  );
  // All that the entry imports before it runs. The loop also visits what is added meanwhile.
  const first = new Set([entry]);
  for (const name of first)
    for (const { path, kind } of outputs.get(name)?.imports ?? [])
      if (kind === 'import-statement') first.add(basename(path));
  const [, ...preloaded] = first;
  const tags = [
    `<script type="module" src="./${entry}"></script>`,
    ...preloaded.map((name) => `<link rel="modulepreload" href="./${name}">`),
    `<link rel="stylesheet" href="./${basename(outputs.get(entry)?.cssBundle ?? '')}">`,
  ];
  const page = readFileSync(join(root, 'console/index.html'), 'utf8');
  files.set('index.html', Buffer.from(page.replace('__PARTS__', tags.join('\n    '))));
  rmSync(to, { recursive: true, force: true });
  mkdirSync(to, { recursive: true });
  const manifest: Record<string, string> = {};
  for (const [name, bytes] of files) {
    manifest[name] = types[extname(name)] ?? 'application/octet-stream';
    const params = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
    writeFileSync(join(to, `${name}.br`), brotliCompressSync(bytes, { params }));
  }
  writeFileSync(join(to, 'manifest.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
}
