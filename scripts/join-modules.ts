/**
 * Joins the modules that every process and every worker thread of this package loads into one file. Opening a file costs
 * more than reading it: 190 small ones take 150 ms of CPU, and the tests start more than a thousand threads and processes.
 *
 *   src/core/dispatch/kernel.js   before: the module        after: export { kernel_Kernel as Kernel } from '../base/joined.js'
 *   src/core/base/joined.js       all modules, each one once
 *
 * Each module keeps its name and its exports, so a test that imports one of them and the package share its state. Only the
 * hooks that Node loads into a thread of its own are a file apart.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { type BuildOptions, build } from 'esbuild';
import { given, writeWithCode } from './compiled-code.ts';

/** What the main thread and the worker threads of a server start with. */
const entries = ['src/index.js', 'src/core/workers/replica/main.js'];
/** Also read by a thread of Node's own in each process that loads procedures, which needs nothing else. */
const hooks = 'src/core/modules/import-hooks.js';
/** As deep as src/core/base/package-files.ts, which tells from its own place where the others lie. */
const joined = 'src/core/base/joined.js';

/**
 * @param copy the folder with the compiled files; changes them
 * @param keepsCode whether V8's compiled code of the joined file is written beside it, in place of its source map
 */
export async function joinModules(copy: string, keepsCode: boolean): Promise<void> {
  const { exportsOf, later } = await findModules(copy);
  const modules = [...exportsOf.keys()];
  const name = (path: string, member: string): string => `m${modules.indexOf(path)}_${member}`;
  for (const path of modules) keepApart(copy, path);
  const lines = [...exportsOf].map(([path, members]) =>
    exportLine(members, (member) => `${member} as ${name(path, member)}`, `./${path}`),
  );
  const all: BuildOptions = {
    ...common(copy),
    stdin: { contents: lines.join('\n'), resolveDir: copy },
    // What is imported later stays where it is.
    external: [...later.map((path) => join(copy, path)), `*${onDemand}`],
  };
  if (keepsCode) {
    const { outputFiles } = await build({ ...all, define: given, write: false });
    writeWithCode(join(copy, joined), outputFiles[0]?.text ?? '');
  } else {
    await build({ ...all, outfile: join(copy, joined), sourcemap: true });
  }
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
    const text = exportLine(members, (member) => `${name(path, member)} as ${member}`, from);
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
  }) as const;

/** Ends the names of modules that are imported on demand. Node takes each for a module of its own, which exports the same. */
const onDemand = '?on-demand';
const importOnDemand = /\bimport\((['"])(\.[^'"]+\.js)\1\)/g;

/**
 * Where a module of the bundle imports another one on demand, esbuild would wrap that one, and all that it imports, in functions:
 * these are compiled twice, once to see where they end.
 */
function keepApart(copy: string, path: string): void {
  const file = join(copy, path);
  const text = readFileSync(file, 'utf8');
  const apart = text.replaceAll(importOnDemand, (_, _quote, to: string) => {
    const target = join(dirname(file), to);
    return `import(${JSON.stringify(relativeTo(dirname(join(copy, joined)), target) + onDemand)})`;
  });
  if (apart !== text) writeFileSync(file, apart);
}

interface Modules {
  /** The exported names of each module that the entries import before they run, by its path in the copy. */
  readonly exportsOf: ReadonlyMap<string, readonly string[]>;
  /** The paths of the modules that are imported when something needs them. */
  readonly later: readonly string[];
}

async function findModules(copy: string): Promise<Modules> {
  const { metafile } = await build({
    ...common(copy),
    entryPoints: entries,
    outdir: unused(copy),
    metafile: true,
    write: false,
  });
  const found = new Set<string>();
  const visit = (path: string): void => {
    if (found.has(path)) return;
    found.add(path);
    for (const { path: imported, kind, external } of metafile.inputs[path]?.imports ?? []) {
      if (kind === 'import-statement' && external !== true) visit(imported);
    }
  };
  entries.forEach(visit);
  const modules = [...found].sort();
  const { outputs } = (
    await build({
      absWorkingDir: copy,
      entryPoints: modules,
      outdir: unused(copy),
      outbase: copy,
      metafile: true,
      write: false,
    })
  ).metafile;
  return {
    exportsOf: new Map(modules.map((path) => [path, outputs[join('unused', path)]?.exports ?? []])),
    later: Object.keys(metafile.inputs).filter((path) => !found.has(path)),
  };
}

/** esbuild wants a folder although it writes nothing there. */
const unused = (copy: string): string => join(copy, 'unused');

function exportLine(
  members: readonly string[],
  pair: (member: string) => string,
  from: string,
): string {
  if (members.length === 0) return `import ${JSON.stringify(from)};`;
  return `export { ${members.map(pair).join(', ')} } from ${JSON.stringify(from)};`;
}

function relativeTo(folder: string, file: string): string {
  const path = relative(folder, file).split(sep).join('/');
  return path.startsWith('.') ? path : `./${path}`;
}
