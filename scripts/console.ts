/**
 * Builds the page of the console: `console/` becomes `dist/console`, each file compressed by Brotli beside a manifest of
 * their types. Browsers load the page from the service itself, from nowhere else.
 */
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import { run } from './run.ts';

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
  // Not for all that only ask for the page that is built already.
  const { build } = await import('vite');
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

/** What the page is made of. */
const sources = ['console', 'src/client', 'package-lock.json', 'scripts/console.ts'];

/** A name for what the page is built from: the same files have the same. */
function versionOf(root: string): string {
  const hash = createHash('sha256');
  for (const source of sources) {
    const files = source.includes('.')
      ? [source]
      : readdirSync(join(root, source), { recursive: true, encoding: 'utf8' })
          .filter((name) => /\.\w+$/.test(name))
          .map((name) => join(source, name))
          .sort();
    for (const name of files) hash.update(name).update(readFileSync(join(root, name)));
  }
  return hash.digest('hex').slice(0, 16);
}

/**
 * The page for copies of the repository: built once for all that have the same sources.
 *
 * @param root the repository's folder
 * @param kept the folder for what was built
 * @param onBuild called where these sources were not built yet, which takes some seconds
 * @returns the folder of the page, which others read too
 */
export async function keptConsole(
  root: string,
  kept: string,
  onBuild: () => void = () => {},
): Promise<string> {
  const built = join(kept, `console-${versionOf(root)}`);
  if (existsSync(built)) return built;
  onBuild();
  const own = `${built}-${process.pid}`;
  // By a process of its own: vite changes NODE_ENV.
  const args = ['--import', 'tsx', 'scripts/build.ts', 'console', own];
  await run(process.execPath, args, { cwd: root });
  try {
    renameSync(own, built);
  } catch {
    // Another run was first.
    rmSync(own, { recursive: true });
  }
  return built;
}
