import { execFileSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The program, or undefined where this machine has none. Debian installs servers where only root's PATH looks. */
export function findProgram(
  name: string,
  env: NodeJS.ProcessEnv = process.env,
): string | undefined {
  const folders = [...(env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/bin'];
  return folders.map((folder) => join(folder, name)).find(isProgram);
}

/** A Chromium of a distribution, or the one that the variable names; undefined: there is none. */
export const chromiumPath: string | undefined = [
  process.env.CHROMIUM_PATH,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
].find((path) => path !== undefined && isProgram(path));

/** Whether npm's registry answers: it is asked as often as npm itself asks before it gives up. */
export async function isRegistryReachable(): Promise<boolean> {
  const registry = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim();
  const url = new URL('ms', registry);
  for (let left = 2; left >= 0; left--) {
    const isThere = await fetch(url, { method: 'HEAD' }).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isThere) return true;
    if (left > 0) await pause(1000);
  }
  return false;
}
