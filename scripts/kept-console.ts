/** The page of the console for copies of the repository: built once for all that have the same sources. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './run.ts';

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
 * @param onBuild called where these sources were not built yet, which takes some seconds
 * @returns the folder of the page, which others read too
 * @throws Error with what the build has said
 */
export async function keptConsole(
  root: string,
  kept: string,
  onBuild: () => void = () => {},
): Promise<string> {
  const built = join(kept, `console-${versionOf(root)}`);
  if (!existsSync(built)) {
    onBuild();
    await build(root, built);
  }
  return built;
}

async function build(root: string, built: string): Promise<void> {
  const own = `${built}-${process.pid}`;
  const args = ['--import', 'tsx', 'scripts/build.ts', 'console', own];
  await run(process.execPath, args, { cwd: root });
  try {
    renameSync(own, built);
  } catch {
    // Another run was first.
    rmSync(own, { recursive: true });
  }
}
