import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { Running } from '../cli/process.ts';
import { patienceVariables } from '../patience.ts';
import { type Image, readDockerfile } from './dockerfile.ts';
import { PlayedImage } from './played-image.ts';
import type { Registry } from './registry.ts';

const run = promisify(execFile);

/** `nobody`, where this test may become that user. */
const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

/** An image that was built without a container, in a folder of its own that nobody may write to. */
export class BuiltImage {
  readonly #folder: string;
  /** The working directory of the image. */
  readonly app: string;
  readonly says: Image;

  private constructor(folder: string, app: string, says: Image) {
    this.#folder = folder;
    this.app = app;
    this.says = says;
  }

  /** @param files what lies in the folder of the Dockerfile, by name */
  static async build(
    dockerfile: string,
    files: Readonly<Record<string, string>>,
    registry: Registry,
  ): Promise<BuiltImage> {
    const folder = mkdtempSync(join(tmpdir(), 'tandem-image-'));
    const context = join(folder, 'context');
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(context, name)), { recursive: true });
      writeFileSync(join(context, name), text);
    }
    const env = { npm_config_registry: registry.url, npm_config_audit: 'false' };
    // The lock file, which a project has.
    await run('npm', ['install', '--package-lock-only'], {
      cwd: context,
      env: { ...process.env, ...env },
    });
    const app = await new PlayedImage(join(folder, 'stages'), context, env).build(dockerfile);
    await run('chmod', ['-R', 'a+rX,a-w', folder]);
    return new BuiltImage(folder, app, readDockerfile(dockerfile));
  }

  /** Starts a command as the image does: another user, no HOME, no variables but these. */
  start(words: readonly string[], variables: Readonly<Record<string, string>> = {}): Running {
    const [file = '', ...args] = words;
    const child = spawn(file, args, {
      cwd: this.app,
      env: {
        ...this.says.env,
        ...patienceVariables,
        PATH: `${dirname(process.execPath)}:/usr/bin:/bin`,
        PORT: '0',
        TANDEM_METRICS_PORT: '0',
        ...variables,
      },
      ...user,
    });
    return new Running(child);
  }

  async remove(): Promise<void> {
    await run('chmod', ['-R', 'u+w', this.#folder]);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
