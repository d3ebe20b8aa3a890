/** The page of the console for copies of the repository: built once for all that have the same sources. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** What the page is made of. */
const folders = ['console', 'src/client'];
const files = ['package-lock.json', 'scripts/console.ts'];

/** A name for what the page is built from: the same files have the same. */
function versionOf(root: string): string {
  const hash = createHash('sha256');
  const inFolders = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.\w+$/.test(name))
      .map((name) => join(folder, name))
      .sort(),
  );
  for (const name of [...inFolders, ...files]) {
    hash.update(name).update(readFileSync(join(root, name)));
  }
  return hash.digest('hex').slice(0, 16);
}

/**
 * @param root the repository's folder
 * @param kept the folder for what was built
 * @param to the folder that is to be `dist/console` of a copy
 * @param onBuild called where these sources were not built yet, which takes some seconds
 * @throws Error with what the build has said
 */
export function copyConsole(
  root: string,
  kept: string,
  to: string,
  onBuild: () => void = () => {},
): void {
  const built = join(kept, `console-${versionOf(root)}`);
  if (!existsSync(built)) {
    onBuild();
    build(root, built);
  }
  cpSync(built, to, { recursive: true });
}

/** In a process of its own: the build is asynchronous, and who makes a copy is not. */
function build(root: string, built: string): void {
  const own = `${built}-${process.pid}`;
  const args = ['--import', 'tsx', 'scripts/build-console.ts', own];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: root,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`the console: ${stdout}${stderr}`);
  try {
    renameSync(own, built);
  } catch {
    // Another run was first.
    rmSync(own, { recursive: true });
  }
}
