import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** This file is not run by tsx: it is the compiled copy. */
export const isCompiled = import.meta.url.endsWith('.js');

export interface Run {
  readonly status: number | null;
  readonly output: string;
}

/** Compiles the package and one of its test files, and runs that on node without tsx. */
export async function runCompiled(testFile: string): Promise<Run> {
  const out = mkdtempSync(join(tmpdir(), 'tandem-compiled-'));
  try {
    const config = join(out, 'tsconfig.json');
    writeFileSync(
      config,
      JSON.stringify({
        extends: join(root, 'tsconfig.json'),
        compilerOptions: {
          noEmit: false,
          noCheck: true,
          outDir: out,
          rootDir: root,
          paths: {},
          typeRoots: [join(root, 'node_modules/@types')],
        },
        include: [join(root, 'src'), join(root, 'workers')],
        files: [join(root, 'test/router', testFile)],
      }),
    );
    writeFileSync(join(out, 'package.json'), '{ "name": "tandem-rpc", "type": "module" }');
    symlinkSync(join(root, 'node_modules'), join(out, 'node_modules'), 'junction');
    const built = await run(['node_modules/typescript/bin/tsc', '-p', config], root);
    if (built.status !== 0) return built;
    return await run([join('test/router', testFile.replace(/\.ts$/, '.js'))], out);
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

function run(args: readonly string[], cwd: string): Promise<Run> {
  // Without the marks of this test run and of tsx.
  const { NODE_TEST_CONTEXT: _test, NODE_OPTIONS: _options, ...env } = process.env;
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    child.on('error', reject);
    child.on('close', (status) => resolve({ status, output }));
  });
}
