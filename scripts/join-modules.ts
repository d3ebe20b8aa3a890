/**
 * Joins the modules that every process and every worker thread of this package loads into one file. Opening a file costs
 * more than reading it: 190 small ones take 150 ms of CPU, and the tests start more than a thousand threads and processes.
 *
 *   src/core/dispatch/kernel.js   before: the module        after: export { m9_Kernel as Kernel } from '../base/joined.js'
 *   src/core/base/joined.js       all modules, each one once
 *
 * Each module keeps its name and its exports, so a test that imports one of them and the package share its state. Only the
 * hooks that Node loads into a thread of its own are a file apart.
 */
import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type BuildOptions, build, type Plugin } from 'esbuild';

/** What the main thread and the worker threads of a server start with. */
const entries = ['src/index.js', 'src/core/workers/replica/main.js'];
/** Also read by a thread of Node's own in each process that loads procedures, which needs nothing else. */
const hooks = 'src/core/modules/import-hooks.js';
/** As deep as src/core/base/package-files.ts, which tells from its own place where the others lie. */
const joined = 'src/core/base/joined.js';

/**
 * @param copy the folder with the compiled files; changes them
 * @param keepsCode whether V8's compiled code of the joined file is written beside it, instead of its source map
 */
export async function joinModules(copy: string, keepsCode: boolean): Promise<void> {
  const exportsOf = await findExports(copy);
  const modules = [...exportsOf.keys()];
  const name = (path: string, member: string): string => `m${modules.indexOf(path)}_${member}`;
  const names = [...exportsOf].flatMap(([path, members]) => members.map((one) => name(path, one)));
  const lines = (keyword: 'import' | 'export') =>
    [...exportsOf].map(([path, members]) =>
      namesLine(keyword, members, (one) => `${one} as ${name(path, one)}`, `./${path}`),
    );
  const all = (contents: string[]) => ({
    ...common(copy),
    stdin: { contents: contents.join('\n'), resolveDir: copy },
  });
  if (keepsCode) {
    // Given at once: esbuild would write a getter for each name, and call it.
    const handOver = `$exports({ ${names.join(', ')} });`;
    await writeWithCode(join(copy, joined), all([...lines('import'), handOver]), names);
  } else await build({ ...all(lines('export')), outfile: join(copy, joined), sourcemap: true });
  await build({
    ...common(copy),
    entryPoints: [hooks],
    outfile: join(copy, hooks),
    allowOverwrite: true,
    sourcemap: !keepsCode,
  });
  for (const [path, members] of exportsOf) {
    if (path === hooks) continue;
    const from = relativeTo(dirname(join(copy, path)), join(copy, joined));
    const text = namesLine('export', members, (one) => `${name(path, one)} as ${one}`, from);
    writeFileSync(join(copy, path), `${text}\n`);
    if (!keepsCode) rmSync(join(copy, `${path}.map`), { force: true });
  }
}

/** TypeBox is joined too, and stays one for those who import it by its name. */
const typeBoxEntries = [
  ['@sinclair/typebox/compiler', '@sinclair/typebox/compiler/index.js'],
  ['@sinclair/typebox/system', '@sinclair/typebox/system/index.js'],
  ['@sinclair/typebox', '@sinclair/typebox/index.js'],
] as const;

/**
 * What is imported on demand stays where it is: esbuild would wrap it, and all that it imports, in functions, which are compiled
 * twice, once to see where they end.
 */
const onDemand = (copy: string): Plugin => ({
  name: 'on-demand',
  setup(build) {
    build.onResolve({ filter: /^\./ }, ({ kind, path, resolveDir }) =>
      kind === 'dynamic-import'
        ? { path: relativeTo(dirname(join(copy, joined)), join(resolveDir, path)), external: true }
        : undefined,
    );
  },
});

const common = (copy: string) =>
  ({
    absWorkingDir: copy,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    packages: 'external',
    alias: Object.fromEntries(
      typeBoxEntries.map(([name, path]) => [name, join(copy, 'node_modules', path)]),
    ),
    ignoreAnnotations: true,
    plugins: [onDemand(copy)],
  }) satisfies BuildOptions;

/** @returns the exported names of each module that the entries import before they run, by its path in the copy */
async function findExports(copy: string): Promise<ReadonlyMap<string, readonly string[]>> {
  // esbuild wants a folder although it writes nothing there.
  const unused = { outdir: join(copy, 'unused'), metafile: true, write: false } as const;
  const { metafile } = await build({ ...common(copy), ...unused, entryPoints: entries });
  const modules = Object.keys(metafile.inputs).sort();
  const options = { absWorkingDir: copy, outbase: copy, entryPoints: modules };
  const { outputs } = (await build({ ...options, ...unused })).metafile;
  return new Map(modules.map((path) => [path, outputs[join('unused', path)]?.exports ?? []]));
}

/** Names that a script uses instead of what only a module has. No name of this repository begins with a dollar. */
const given = { 'import.meta.url': '$ownUrl', 'import.meta.resolve': '$resolveUrl' };
/** Parameters of the script. Functions that come from V8's code can't import: Node does not know whose they are. */
const parameters = ['require', '$exports', '$import', ...Object.values(given)].join(', ');

/**
 * Writes the joined modules with V8's compiled code of them, so that a thread compiles next to nothing. Node can be given such code
 * for a script, not for a module:
 *
 *   joined.js      export const { m0_Kernel, ... } = what the script gives
 *   joined.txt     the script, in plain ASCII
 *   joined.code    V8's code of all that ran when the script was loaded once
 *
 * V8 refuses code of another version or of other flags, and compiles the script as if there was none.
 */
async function writeWithCode(
  file: string,
  options: BuildOptions,
  names: readonly string[],
): Promise<void> {
  const [script, code] = [file.replace(/js$/, 'txt'), file.replace(/js$/, 'code')];
  const { outputFiles } = await build({ ...options, format: 'cjs', define: given, write: false });
  const body = outputFiles?.[0]?.text.replaceAll(/\bimport\(/g, '$$import(');
  writeFileSync(script, `(function (${parameters}) { ${body}\n})`);
  writeFileSync(code, '');
  writeFileSync(
    file,
    `import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Script } from 'node:vm';
export const script = new Script(readFileSync(${JSON.stringify(script)}, 'latin1'), {
  filename: ${JSON.stringify(file)},
  cachedData: readFileSync(${JSON.stringify(code)}),
});
const load = script.runInThisContext();
const { url, resolve } = import.meta;
let exported;
load(createRequire(url), (all) => { exported = all; }, (specifier) => import(specifier), url, resolve);
export const { ${names.join(', ')} } = exported;
`,
  );
  // By its URL: a path may hold signs that mean something else in an import.
  const keep = `import { script } from ${JSON.stringify(pathToFileURL(file).href)};
import { writeFileSync } from 'node:fs';
writeFileSync(${JSON.stringify(code)}, script.createCachedData());`;
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', keep], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`${file} can't be loaded: ${stderr}`);
}

function namesLine(
  keyword: 'import' | 'export',
  members: readonly string[],
  pair: (member: string) => string,
  from: string,
): string {
  if (members.length === 0) return `import ${JSON.stringify(from)};`;
  return `${keyword} { ${members.map(pair).join(', ')} } from ${JSON.stringify(from)};`;
}

function relativeTo(folder: string, file: string): string {
  const path = relative(folder, file).split(sep).join('/');
  return path.startsWith('.') ? path : `./${path}`;
}
