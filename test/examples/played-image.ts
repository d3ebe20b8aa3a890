import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { cleanEnvironment } from '../cli/process.ts';
import { pairOf, readStages } from './dockerfile.ts';

const run = promisify(execFile);

/** What tells of the image, and makes nothing. */
const told = new Set(['USER', 'EXPOSE', 'HEALTHCHECK', 'CMD']);

/**
 * Makes the tree that a Dockerfile makes, where no container can be built: each line in its turn, each stage in a folder of
 * its own. Commands run on this machine with Node as this test has it.
 */
export class PlayedImage {
  readonly #folder: string;
  readonly #context: string;
  readonly #env: NodeJS.ProcessEnv;

  /**
   * @param folder empty; the stages go there
   * @param context the folder that `docker build` would be given
   * @param env what commands get beside the image's own variables
   */
  constructor(folder: string, context: string, env: NodeJS.ProcessEnv) {
    this.#folder = folder;
    this.#context = context;
    this.#env = env;
  }

  /** @returns the working directory of the last stage */
  async build(dockerfile: string): Promise<string> {
    let work = this.#folder;
    for (const [index, { name, instructions }] of readStages(dockerfile).entries()) {
      const stage = this.#stage(name ?? String(index));
      const own: NodeJS.ProcessEnv = {};
      work = stage;
      for (const { word, text } of instructions) {
        if (word === 'WORKDIR') {
          work = join(stage, text);
          mkdirSync(work, { recursive: true });
        } else if (word === 'COPY') this.#copy(text.split(' '), work);
        else if (word === 'RUN') await this.#run(text, work, own);
        else if (word === 'ENV') Object.assign(own, Object.fromEntries([pairOf(text)]));
        else if (!told.has(word)) throw new Error(`this player knows no ${word}`);
      }
    }
    return work;
  }

  #stage(name: string): string {
    const stage = join(this.#folder, name);
    mkdirSync(stage, { recursive: true });
    return stage;
  }

  /** A folder is copied with what is in it, under the name of the target; a file goes into a target that is a folder. */
  #copy(words: readonly string[], work: string): void {
    const from = /^--from=(\w+)$/.exec(words[0] ?? '')?.[1];
    const paths = from === undefined ? words : words.slice(1);
    const root = from === undefined ? this.#context : this.#stage(from);
    const to = join(work, paths.at(-1) ?? '');
    const isFolder = paths.at(-1)?.endsWith('/') === true;
    for (const source of paths.slice(0, -1).flatMap((path) => expand(join(root, path)))) {
      const isWhole = statSync(source).isDirectory() || !isFolder;
      cpSync(source, isWhole ? to : join(to, basename(source)), {
        recursive: true,
        verbatimSymlinks: true,
      });
    }
  }

  async #run(command: string, work: string, own: NodeJS.ProcessEnv): Promise<void> {
    const env = { ...cleanEnvironment({}), ...this.#env, ...own };
    try {
      await run('sh', ['-ec', command], { cwd: work, env, maxBuffer: 16 * 1024 * 1024 });
    } catch (error) {
      const { stdout, stderr } = error as { stdout: string; stderr: string };
      throw new Error(`RUN ${command}\n${stdout}\n${stderr}`, { cause: error });
    }
  }
}

/** The paths that a pattern with `*` in its last part stands for. */
function expand(path: string): string[] {
  const pattern = basename(path);
  if (!pattern.includes('*')) return [path];
  const expression = new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll('*', '.*')}$`);
  return readdirSync(dirname(path))
    .filter((name) => expression.test(name))
    .map((name) => join(dirname(path), name));
}
