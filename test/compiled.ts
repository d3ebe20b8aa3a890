import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compileTree } from '../scripts/compile.ts';
import { isCompiled, root, tree } from './files.ts';

/** Names the copy of a compiled run for a process that it starts from the sources. */
export const treeVariable = 'TEST_COMPILED_TREE';

let copy: Promise<string> | undefined;

/** The compiled copy of the repository: this run's own, or one that lasts as long as this process. */
export async function compiledTree(): Promise<string> {
  const given = isCompiled ? tree : process.env[treeVariable];
  if (given !== undefined) return given;
  copy ??= compileTree(root).then((made) => {
    process.on('exit', () => rmSync(made, { recursive: true, force: true }));
    return made;
  });
  return copy;
}

/** The environment of a process of a user: without the marks of this test run and of tsx. */
export function userEnvironment(): NodeJS.ProcessEnv {
  const { NODE_TEST_CONTEXT: _test, NODE_OPTIONS: _options, ...env } = process.env;
  return env;
}

/** Starts compiled files of this repository on node without tsx, as they are installed. */
export class Compiled {
  /** For what the files write. */
  readonly folder = mkdtempSync(join(tmpdir(), 'tandem-compiled-'));
  /** The compiled copy of the repository. */
  readonly tree: string;

  /** @param tree what `compiledTree` has made */
  constructor(tree: string) {
    this.tree = tree;
  }

  /**
   * Its stderr is ours.
   *
   * @param file relative to the repository's folder
   * @param added to our environment
   */
  start(file: string, args: readonly string[] = [], added: Readonly<Record<string, string>> = {}) {
    const path = join(this.tree, file.replace(/\.ts$/, '.js'));
    return spawn(process.execPath, ['--expose-gc', path, ...args], {
      env: { ...userEnvironment(), ...added },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
