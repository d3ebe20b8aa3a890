import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** A compiled copy of this package and of files that use it, for node without tsx, as it is installed. */
export class Compiled {
  readonly folder = mkdtempSync(join(tmpdir(), 'tandem-faults-'));

  /** @param files relative to the package's folder */
  constructor(files: readonly string[]) {
    const config = join(this.folder, 'tsconfig.json');
    const compilerOptions = {
      noEmit: false,
      noCheck: true,
      outDir: this.folder,
      rootDir: root,
      paths: {},
      typeRoots: [join(root, 'node_modules/@types')],
    };
    writeFileSync(
      config,
      JSON.stringify({
        extends: join(root, 'tsconfig.json'),
        compilerOptions,
        include: [join(root, 'src'), join(root, 'workers')],
        files: files.map((file) => join(root, file)),
      }),
    );
    const exports = { '.': './src/index.js', './package.json': './package.json' };
    const manifest = { name: 'tandem-rpc', version: '0.0.0', type: 'module', exports };
    writeFileSync(join(this.folder, 'package.json'), JSON.stringify(manifest));
    symlinkSync(join(root, 'node_modules'), join(this.folder, 'node_modules'), 'junction');
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', config], {
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`tsc: ${stdout}`);
  }

  /** Starts one of the files. Its stderr is ours. */
  start(file: string, args: readonly string[] = []) {
    // Without the marks of this test run and of tsx.
    const { NODE_TEST_CONTEXT: _test, NODE_OPTIONS: _options, ...env } = process.env;
    const path = join(this.folder, file.replace(/\.ts$/, '.js'));
    return spawn(process.execPath, ['--expose-gc', path, ...args], {
      env,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
