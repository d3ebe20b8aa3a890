/**
 * Joins the modules that every worker thread of this package loads into one file, and what a process loads beside them into
 * another. Opening a file costs more than reading it: 190 small ones take 150 ms of CPU, and the tests start more than a
 * thousand threads and processes.
 *
 *   src/core/schema/model.js      before: the module        after: export { m9_kindOf as kindOf } from '../base/joined.js'
 *   src/core/base/joined.js       all modules of a worker thread, each one once
 *   src/core/base/joined-more.js  what only processes load, which imports the other
 *
 * Each module keeps its name and its exports, so a test that imports one of them and the package share its state. Only the
 * hooks that Node loads into a thread of its own are a file apart.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type BuildOptions, build, type Plugin } from 'esbuild';
import { run } from './run.ts';

/** What the worker threads of a server start with, and what the main thread and the tests load. */
const inWorkers = ['src/declare.js', 'src/in-worker.js', 'src/core/workers/replica/main.js'];
const inProcesses = ['src/index.js', 'src/caller/runs.js'];
/** Also read by a thread of Node's own in each process that loads procedures, which needs nothing else. */
const hooks = 'src/core/modules/import-hooks.js';
/** As deep as src/core/base/package-files.ts, which tells from its own place where the others lie. */
const [joined, joinedMore] = ['src/core/base/joined.js', 'src/core/base/joined-more.js'] as const;

/** The names that modules export, by the path of the module in the copy. */
type Exports = ReadonlyMap<string, readonly string[]>;

/** @param copy the folder with the compiled files; changes them */
export async function joinModules(copy: string): Promise<void> {
  const inThreads = await findExports(copy, inWorkers);
  const all = await findExports(copy, inProcesses);
  const options = { ...common(copy), write: false } as const;
  const { outputFiles } = await build({ ...options, entryPoints: [hooks] });
  await joinPart(copy, joined, inThreads);
  // It finds the modules of the first part as they are now: each takes its exports from the joined file.
  const more = new Map([...all].filter(([path]) => !inThreads.has(path)));
  await joinPart(copy, joinedMore, more, joined);
  for (const { contents } of outputFiles) writeFileSync(join(copy, hooks), contents);
}

/** @param base the joined file that this one imports */
async function joinPart(copy: string, file: string, part: Exports, base?: string): Promise<void> {
  const modules = Array.from(part, ([path, members], index) => {
    const named = members.map((one) => [one, `m${index}_${one}`] as const);
    return { path, named };
  });
  const imports = modules.map(
    ({ path, named }) =>
      `import { ${named.map(([one, name]) => `${one} as ${name}`).join(', ')} } from './${path}';`,
  );
  const names = modules.flatMap(({ named }) => named.map(([, name]) => name));
  const all = {
    ...common(copy),
    external: base === undefined ? [] : [join(copy, base)],
    outfile: join(copy, file),
    stdin: {
      // Given at once: esbuild would write a getter for each name, and call it.
      contents: [...imports, `$exports({ ${names.join(', ')} });`].join('\n'),
      resolveDir: copy,
    },
  };
  await writeWithCode(join(copy, file), all, names, base && `./${basename(base)}`);
  for (const { path, named } of modules) {
    const from = JSON.stringify(relativeTo(dirname(join(copy, path)), join(copy, file)));
    const exported = named.map(([one, name]) => `${name} as ${one}`).join(', ');
    writeFileSync(join(copy, path), `export { ${exported} } from ${from};\n`);
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
async function findExports(copy: string, entries: readonly string[]): Promise<Exports> {
  // esbuild wants a folder although it writes nothing there.
  const unused = { outdir: join(copy, 'unused'), metafile: true, write: false } as const;
  const { metafile } = await build({ ...common(copy), ...unused, entryPoints: [...entries] });
  const modules = Object.keys(metafile.inputs).sort();
  const options = { absWorkingDir: copy, outbase: copy, entryPoints: modules };
  const { outputs } = (await build({ ...options, ...unused })).metafile;
  const found = new Map(
    modules.map((path) => [path, outputs[join('unused', path)]?.exports ?? []]),
  );
  for (const [path, own] of found) {
    const stars = readFileSync(join(copy, path), 'utf8').matchAll(/^export \* from '(.+)';$/gm);
    const others = Array.from(stars, ([, from = '']) => found.get(join(dirname(path), from)) ?? []);
    found.set(path, [...own, ...others.flat()]);
  }
  return found;
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
  base: string | undefined,
): Promise<void> {
  const [script, code] = [file.replace(/js$/, 'txt'), file.replace(/js$/, 'code')];
  const { outputFiles } = await build({ ...options, format: 'cjs', define: given, write: false });
  const body = outputFiles?.[0]?.text.replaceAll(/\bimport\(/g, '$$import(');
  writeFileSync(script, `(function (${parameters}) { ${body}\n})`);
  writeFileSync(code, '');
  const beside = base && JSON.stringify(base);
  const [importBase, require] =
    beside === undefined
      ? ['', 'own']
      : [`import * as base from ${beside};`, `(name) => (name === ${beside} ? base : own(name))`];
  writeFileSync(
    file,
    `${importBase}
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Script } from 'node:vm';
export const script = new Script(readFileSync(${JSON.stringify(script)}, 'latin1'), {
  filename: ${JSON.stringify(file)},
  cachedData: readFileSync(${JSON.stringify(code)}),
});
const load = script.runInThisContext();
const { url, resolve } = import.meta;
const own = createRequire(url);
let exported;
load(${require}, (all) => { exported = all; }, (specifier) => import(specifier), url, resolve);
export const { ${names.join(', ')} } = exported;
`,
  );
  // By its URL: a path may hold signs that mean something else in an import.
  const keep = `import { script } from ${JSON.stringify(pathToFileURL(file).href)};
import { writeFileSync } from 'node:fs';
writeFileSync(${JSON.stringify(code)}, script.createCachedData());`;
  await run(process.execPath, ['--input-type=module', '-e', keep]);
}

function relativeTo(folder: string, file: string): string {
  const path = relative(folder, file).split(sep).join('/');
  return path.startsWith('.') ? path : `./${path}`;
}
