/**
 * `npm run docs:site`: builds the site in docs/site/dist from the pages of the repository, by VitePress, which fails at a link to a
 * page that is not there. The reference of the API is made before, by TypeDoc, in docs/reference/api. Both are installed in docs/site:
 * TypeDoc needs TypeScript 5, and they take 150 MB that no test needs.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readManifest, writeTypes } from './bundle.ts';
import { run } from './run.ts';
import { main, root, temporaryFolder } from './script.ts';

const site = join(root, 'docs/site');
const bin = join(site, 'node_modules/.bin');

/** Prints what the program has printed. */
async function runInSite(command: string, args: readonly string[]): Promise<void> {
  const { stdout, stderr } = await run(command, args, { cwd: site });
  console.log(`${stdout}${stderr}`.trim());
}

/** Writes docs/reference/api from the declarations of the package, a page for each module that it exports. */
async function writeReference(): Promise<void> {
  // In the repository: declarations import its packages.
  mkdirSync(join(root, '.build'), { recursive: true });
  const folder = temporaryFolder('reference-', join(root, '.build'));
  await writeTypes(root, join(folder, 'dist'));
  const { exports } = readManifest(root);
  const files = Object.entries(exports).flatMap(([name, entry], index) => {
    if (typeof entry === 'string') return [];
    const file = join(folder, `entry-${index}.d.ts`);
    const from = entry.types.replace(/\.d\.ts$/, '.js');
    const module = name.replace('.', 'tandem-rpc');
    writeFileSync(file, `/** @module ${module} */\nexport * from '${from}';\n`);
    return [file];
  });
  const compilerOptions = {
    target: 'es2022',
    lib: ['es2023', 'dom', 'dom.iterable'],
    types: ['node'],
    module: 'nodenext',
    strict: true,
    skipLibCheck: true,
    noEmit: true,
  };
  const tsconfig = join(folder, 'tsconfig.json');
  writeFileSync(tsconfig, JSON.stringify({ compilerOptions, files }));
  const inputs = files.flatMap((file) => ['--entryPoints', file]);
  const out = join(root, 'docs/reference/api');
  await runInSite(join(bin, 'typedoc'), ['--tsconfig', tsconfig, ...inputs, '--out', out]);
}

await main(async () => {
  if (!existsSync(bin)) await runInSite('npm', ['ci', '--no-audit', '--no-fund']);
  await writeReference();
  await runInSite(join(bin, 'vitepress'), ['build']);
});
