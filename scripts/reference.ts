/**
 * `npm run docs:reference [-- --check]`: writes docs/reference/api from the declarations of the package, by TypeDoc, which
 * has a TypeScript of its own in docs/site. With --check it writes nothing, and exits with 1 where a page is out of date.
 */
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeTypes } from './bundle.ts';
import { installSite, site } from './site-packages.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const pages = join(root, 'docs/reference/api');

/**
 * The modules that the package exports, each with the types that its own are made of and that it does not export: readers
 * of the reference need them all the same. TypeDoc names what is missing here; what only the types' own machinery needs
 * stands in docs/site/typedoc.json.
 */
const modules: Record<string, { from: string; with: Record<string, readonly string[]> }> = {
  'tandem-rpc': {
    from: './index.js',
    with: {
      './core/base/place.js': ['Place'],
      './core/config/groups.js': ['Crew', 'GivenGroups'],

      './core/dispatch/body-memory.js': ['BodyMemoryStats'],
      './core/dispatch/reply-memory.js': ['ReplyMemoryStats'],
      './core/dispatch/service.js': [
        'Document',
        'DocumentFormat',
        'ServedProcedures',
        'ServiceState',
      ],
      './core/observe/recent-events.js': ['RecentEvent'],
      './core/observe/snapshot.js': [
        'BlockedTotals',
        'CallTotals',
        'Counters',
        'GroupFigures',
        'MemberFigures',
        'PlacedProcedure',
        'WorkerFigures',
        'HistogramTotals',
      ],
      './core/observe/throttled-callers.js': ['ThrottledCaller', 'ThrottleCause'],
      './core/procedures/context.js': ['CallLogLevel', 'HandlerContext'],
      './core/procedures/declarations.js': ['ErrorDeclarations', 'ErrorMakers'],
      './core/procedures/fault.js': ['Fault', 'FaultReporter'],
      './core/procedures/from.js': ['ProcedureTree'],
      './core/procedures/middleware.js': ['Authorize', 'UseList'],
      './core/procedures/procedure.js': ['MakeProcedure'],
      './core/procedures/router.js': ['ReplaceOptions'],
      './core/procedures/rpc.js': ['Rpc'],
      './core/procedures/schema/declared.js': [
        'ParamsSchema',
        'ResultSchema',
        'StandardIssue',
        'StandardResult',
      ],
      './core/procedures/schema/schema-tree.js': ['JsonSchema'],
      './core/procedures/types.js': ['ProcedureOptions', 'StreamRules'],
      './core/service/cluster.js': ['RemoteStats'],
      './core/service/local.js': ['LocalFetch'],
      './core/service/main-thread-blockers.js': ['BlockedFigures'],
      './core/service/metrics.js': ['Metrics'],
      './core/workers/options.js': ['PoolStats', 'RunningCall', 'WorkerStats'],
    },
  },
  'tandem-rpc/client': {
    from: './client/index.js',
    with: {
      './client/outcome.js': ['TransportFacts'],
      './client/exchange.js': ['Answer', 'Call', 'Request'],
    },
  },
  'tandem-rpc/client/sse': {
    from: './client/sse.js',
    with: { './client/stream.js': ['StreamTransportOptions'] },
  },
  'tandem-rpc/client/socket': { from: './client/socket.js', with: {} },
  'tandem-rpc/client/tanstack': { from: './client/tanstack.js', with: {} },
  'tandem-rpc/jwt': { from: './extras/jwt/jwt.js', with: {} },
};

function run(args: readonly string[], cwd: string): void {
  const { status } = spawnSync(process.execPath, args, { cwd, stdio: 'inherit' });
  if (status !== 0) throw new Error(`failed with ${status}: node ${args.join(' ')}`);
}

/** Writes the pages into `to`, from declarations below `folder`, which lies in the repository: they import its packages. */
function generate(folder: string, to: string): void {
  const types = join(folder, 'dist/src');
  writeTypes(root, join(folder, 'dist'));
  const entries = Object.entries(modules).map(([name, { from, with: more }], index) => {
    const lines = Object.entries(more).map(
      ([file, names]) => `export type { ${names.join(', ')} } from '${file}';`,
    );
    const file = join(types, `entry-${index}.d.ts`);
    writeFileSync(file, `/** @module ${name} */\nexport * from '${from}';\n${lines.join('\n')}\n`);
    return file;
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
  writeFileSync(tsconfig, JSON.stringify({ compilerOptions, files: entries }));
  const typedoc = join(site, 'node_modules/typedoc/bin/typedoc');
  const inputs = entries.flatMap((file) => ['--entryPoints', file]);
  run([typedoc, '--tsconfig', tsconfig, ...inputs, '--out', to], site);
}

function textsIn(folder: string): Map<string, string> {
  if (!existsSync(folder)) return new Map();
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const files = names.filter((name) => name.endsWith('.md'));
  return new Map(files.map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
}

installSite();
mkdirSync(join(root, '.build'), { recursive: true });
const folder = mkdtempSync(join(root, '.build/reference-'));
try {
  generate(folder, join(folder, 'pages'));
  const made = textsIn(join(folder, 'pages'));
  const old = textsIn(pages);
  const stale = [...new Set([...made.keys(), ...old.keys()])].filter(
    (name) => made.get(name) !== old.get(name),
  );
  if (stale.length === 0) {
    console.log('docs/reference/api is current');
  } else if (process.argv.includes('--check')) {
    console.error(
      `docs/reference/api is out of date (${stale.join(', ')}); run npm run docs:reference`,
    );
    process.exitCode = 1;
  } else {
    rmSync(pages, { recursive: true, force: true });
    for (const [name, text] of made) {
      const path = join(pages, name);
      mkdirSync(join(path, '..'), { recursive: true });
      writeFileSync(path, text);
    }
    console.log(`docs/reference/api was written: ${stale.join(', ')}`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
