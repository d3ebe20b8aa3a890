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

/** The modules of a joined file, and the names that they export. */
interface Part {
  readonly file: string;
  /** By the path of the module in the copy. */
  readonly exportsOf: ReadonlyMap<string, readonly string[]>;
}

/** @param copy the folder with the compiled files; changes them */
export async function joinModules(copy: string): Promise<void> {
  const inThreads = await findExports(copy, inWorkers);
  const all = await findExports(copy, inProcesses);
  const first: Part = { file: joined, exportsOf: inThreads };
  const more = [...all].filter(([path]) => !inThreads.has(path));
  const second: Part = { file: joinedMore, exportsOf: new Map(more) };
  await joinPart(copy, first, undefined);
  await joinPart(copy, second, first);
  await build({
    ...common(copy),
    entryPoints: [hooks],
    outfile: join(copy, hooks),
    allowOverwrite: true,
  });
  for (const part of [first, second]) {
    for (const [path, members] of part.exportsOf) {
      if (path === hooks) continue;
      const from = relativeTo(dirname(join(copy, path)), join(copy, part.file));
      const text = namesLine(
        'export',
        members,
        (one) => `${nameIn(part, path, one)} as ${one}`,
        from,
      );
      writeFileSync(join(copy, path), `${text}\n`);
    }
  }
}

/** The name of a module's export in the joined file. */
function nameIn({ exportsOf }: Part, path: string, member: string): string {
  return `m${[...exportsOf.keys()].indexOf(path)}_${member}`;
}

/** @param base the part that this one imports */
async function joinPart(copy: string, part: Part, base: Part | undefined): Promise<void> {
  const modules = [...part.exportsOf];
  const names = modules.flatMap(([path, members]) => members.map((one) => nameIn(part, path, one)));
  const imports = modules.map(([path, members]) =>
    namesLine('import', members, (one) => `${one} as ${nameIn(part, path, one)}`, `./${path}`),
  );
  const options = common(copy);
  const all = {
    ...options,
    plugins: base === undefined ? options.plugins : [...options.plugins, fromBase(copy, base)],
    stdin: {
      // Given at once: esbuild would write a getter for each name, and call it.
      contents: [...imports, `$exports({ ${names.join(', ')} });`].join('\n'),
      resolveDir: copy,
    },
  };
  await writeWithCode(join(copy, part.file), all, names, base);
}

/** Modules of the other part are taken from its joined file. */
const fromBase = (copy: string, base: Part): Plugin => ({
  name: 'from-base',
  setup(build) {
    const beside = `./${basename(base.file)}`;
    build.onResolve({ filter: /^\.\/joined\.js$/ }, () => ({ path: beside, external: true }));
    build.onLoad({ filter: /\.js$/ }, ({ path }) => {
      const module = relative(copy, path).split(sep).join('/');
      const members = base.exportsOf.get(module);
      if (members === undefined) return undefined;
      const named = (one: string): string => `${nameIn(base, module, one)} as ${one}`;
      return { contents: namesLine('export', members, named, beside) };
    });
  },
});

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
async function findExports(
  copy: string,
  entries: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
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
  base: Part | undefined,
): Promise<void> {
  const [script, code] = [file.replace(/js$/, 'txt'), file.replace(/js$/, 'code')];
  const { outputFiles } = await build({ ...options, format: 'cjs', define: given, write: false });
  const body = outputFiles?.[0]?.text.replaceAll(/\bimport\(/g, '$$import(');
  writeFileSync(script, `(function (${parameters}) { ${body}\n})`);
  writeFileSync(code, '');
  const beside = base && JSON.stringify(`./${basename(base.file)}`);
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
