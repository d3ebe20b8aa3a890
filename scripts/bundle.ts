/** What is published, in two packages: the sources bundled, with the types of each file. */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { type BuildOptions, build, type Metafile, type OutputFile, type Plugin } from 'esbuild';
import { buildConsole } from './console.ts';
import { run } from './run.ts';

/**
 * The files that something names: `exports` and `bin` of package.json, and `ownFile()` in the sources. All else lies in
 * chunks, which are loaded with what needs them. Opening a file costs more than reading it: 200 small ones take a fifth of
 * a second of CPU in each thread that imports this package.
 */
const entries = {
  'src/index': 'bundled/index.ts',
  'src/required': 'bundled/required.ts',
  'src/cli/main': 'src/cli/main.ts',
  'src/cli/child-main': 'src/cli/child-main.ts',
  'src/server/http/edge/connection-count': 'src/server/http/edge/connection-count.ts',
  'src/server/process/guard-thread': 'src/server/process/guard-thread.ts',
  'src/core/modules/import-hooks': 'src/core/modules/import-hooks.ts',
  'src/extras/jwt/jwt': 'src/extras/jwt/jwt.ts',
  'workers/replica': 'workers/replica.ts',
};
/** In one file, for pages: it shares no code with the server. It is in both packages. */
const clientEntry = 'src/client/index.ts';
/** What a page loads beside it where it reads streams. They use the code and the classes of the client's file. */
const transportEntries = ['src/client/sse.ts', 'src/client/socket.ts'];
/** Options for a library of pages. It uses a client that it is given, and no code of this package. */
const libraryEntries = ['src/client/tanstack.ts'];
const clientBeside: Plugin = {
  name: 'client-beside',
  setup(build) {
    build.onResolve({ filter: /^\.\/index\.ts$/ }, () => ({ path: './index.js', external: true }));
  },
};
/** The package's own client, for callers in the same process: there must be one class of its errors. */
const clientByName: Plugin = {
  name: 'client',
  setup(build) {
    build.onResolve({ filter: /^(?:\.{1,2}\/)+(client\/)?index\.ts$/ }, ({ importer }) =>
      /src\/(caller|client)\/[\w-]+\.ts$/.test(importer)
        ? { path: 'tandem-rpc/client', external: true }
        : undefined,
    );
  },
};

/**
 * Files that are loaded on demand, and that need most of the code of a server, or of a worker thread. They import all of it, so
 * that it lies in a few chunks. esbuild makes a chunk for each set of entries that share some code: fifty for a server, each a
 * file to open.
 */
const inServers = [
  'caller/runs',
  'cli/server',
  'cli/serve-mcp',
  'cli/tools/module-source',
  'core/procedures/document/openrpc',
  'extras/console/console',
  'extras/jwt/jwt',
  'extras/mcp/endpoint',
  'extras/mcp/server',
  'extras/mcp/sign-in',
  'extras/nats/member/member',
  'extras/nats/transport',
  'extras/openapi/http-api',
];
/** Of these a worker thread loads some, and no server. */
const inWorkers = ['core/modules/modules', 'core/workers/replica/main', 'in-worker'];

const registryFile = /@sinclair\/typebox\/build\/esm\/type\/registry\/(format|type)\.mjs$/;

/** Bundles TypeBox, its registries replaced by those of registries.ts. @param folder where that lies */
function bundleTypeBox(folder: string): Plugin {
  const entries = ['index.ts', 'required.ts'].map((name) => join(folder, name));
  return {
    name: 'typebox',
    setup(build) {
      // What is shared is the program's own.
      build.onResolve({ filter: /^@sinclair\/typebox(\/|$)/ }, ({ path, importer }) =>
        entries.includes(importer) ? { path, external: true } : undefined,
      );
      build.onLoad({ filter: registryFile }, ({ path }) => {
        const name = `${registryFile.exec(path)?.[1]}s`;
        const contents = `import { ${name} } from './registries.ts';
export const { Entries, Clear, Delete, Has, Set, Get } = ${name};`;
        return { contents, loader: 'ts', resolveDir: folder };
      });
    },
  };
}

const withAll = (files: readonly string[], all: string): Plugin => ({
  name: `with ${all}`,
  setup(build) {
    const { absWorkingDir: root = '' } = build.initialOptions;
    const filter = new RegExp(`/src/(?:${files.join('|')})\\.ts$`);
    build.onLoad({ filter }, ({ path }) => ({
      contents: `${readFileSync(path, 'utf8')}\nimport ${JSON.stringify(join(root, all))};\n`,
      loader: 'ts',
    }));
  },
});

const common = {
  bundle: true,
  tsconfig: 'tsconfig.build.json',
  format: 'esm',
  target: 'node20',
  sourcemap: true,
  // The sources are in the package: stack traces name them.
  sourcesContent: false,
  metafile: true,
  write: false,
} satisfies BuildOptions;

/**
 * Writes the package's JavaScript.
 *
 * @param root the repository's folder
 * @param to the folder that is to be `dist`; source maps are those of `root/dist` wherever it lies
 */
export async function bundleInto(root: string, to: string): Promise<void> {
  const dist = join(root, 'dist');
  const { dependencies, optionalDependencies, peerDependencies } = readManifest(root);
  const { '@sinclair/typebox': _bundled, ...others } = dependencies;
  const built = await build({
    ...common,
    absWorkingDir: root,
    outdir: dist,
    outbase: '.',
    entryPoints: entries,
    platform: 'node',
    external: Object.keys({ ...others, ...optionalDependencies, ...peerDependencies }),
    plugins: [
      bundleTypeBox(join(root, 'bundled')),
      clientByName,
      withAll(inServers, 'src/index.ts'),
      withAll(inWorkers, 'src/declare.ts'),
    ],
    splitting: true,
    // As deep as src/core/base/package-files.ts, which tells from its own place where the others lie.
    chunkNames: 'src/core/chunks/[name]-[hash]',
    // The sideEffects of package.json are for those who bundle the package: its own files may have some.
    ignoreAnnotations: true,
  });
  for (const { path, contents } of [...built.outputFiles, ...(await clientFiles(root))]) {
    write(join(to, relative(dist, path)), contents);
  }
  write(join(to, 'LICENSES.txt'), licencesOf(root, bundledFrom(built.metafile)));
}

/** The packages whose code is in the bundle. */
function bundledFrom({ inputs }: Metafile): string[] {
  const names = Object.keys(inputs).flatMap(
    (input) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1] ?? [],
  );
  return [...new Set(names)].sort();
}

/** @throws Error for a package without the text of its licence */
function licencesOf(root: string, names: readonly string[]): string {
  const texts = names.map((name) => {
    const folder = join(root, 'node_modules', name);
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    if (file === undefined) throw new Error(`${name} is bundled, and has no licence`);
    const text = readFileSync(join(folder, file), 'utf8').trim();
    return `${name} ${readManifest(folder).version}\n\n${text}\n`;
  });
  const head = 'Code of these packages is in dist:\n';
  return [head, ...texts].join(`\n${'-'.repeat(72)}\n\n`);
}

/** The client as pages load it: one file, and beside it those of the transports that read streams. */
async function clientFiles(root: string): Promise<OutputFile[]> {
  const options = {
    ...common,
    absWorkingDir: root,
    outdir: join(root, 'dist/src/client'),
    outbase: 'src/client',
    platform: 'browser',
    target: 'es2022',
    // The user's bundler sets it: esbuild would write its own value here.
    define: { 'process.env.NODE_ENV': 'process.env.NODE_ENV' },
  } satisfies BuildOptions;
  const built = await Promise.all([
    build({ ...options, entryPoints: [clientEntry] }),
    build({ ...options, entryPoints: libraryEntries, packages: 'external' }),
    build({
      ...options,
      entryPoints: transportEntries,
      plugins: [clientBeside],
      splitting: true,
      chunkNames: 'stream-[hash]',
    }),
  ]);
  return built.flatMap(({ outputFiles }) => outputFiles);
}

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly exports: Readonly<Record<string, string | { readonly types: string }>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/** The package.json of a folder. */
export function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
}

/**
 * Writes the declarations of all sources, or of those of another project.
 *
 * @throws Error with the compiler's words
 */
export async function writeTypes(
  root: string,
  to: string,
  project = join(root, 'tsconfig.build.json'),
): Promise<void> {
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const args = [tsc, '-p', project, '--emitDeclarationOnly', '--outDir', to];
  await run(process.execPath, args, { cwd: root });
}

function write(path: string, contents: string | Uint8Array): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, contents);
}

/** Builds the package anew into `to`. */
export async function buildPackage(root: string, to: string): Promise<void> {
  rmSync(to, { recursive: true, force: true });
  await bundleInto(root, to);
  await writeTypes(root, to);
  await buildConsole(root, join(to, 'console'));
}

/**
 * Builds the client's package anew into `folder`, beside its package.json.
 *
 * @param withTypes its declarations too, which take the compiler some seconds
 */
export async function buildClient(root: string, folder: string, withTypes = true): Promise<void> {
  for (const name of ['dist', 'src']) rmSync(join(folder, name), { recursive: true, force: true });
  for (const { path, contents } of await clientFiles(root)) {
    // The maps name the sources as they lie in the server's package.
    const text = path.endsWith('.map')
      ? Buffer.from(contents).toString().replaceAll('../../../src/client/', '../src/')
      : contents;
    write(join(folder, 'dist', basename(path)), text);
  }
  // Source maps name these files. What makes contracts from documents is the server package's.
  const isClient = (file: string): boolean => !file.endsWith('/codegen');
  cpSync(join(root, 'src/client'), join(folder, 'src'), { recursive: true, filter: isClient });
  if (withTypes)
    await writeTypes(root, join(folder, 'dist'), join(root, 'packages/client/tsconfig.json'));
}
