import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

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
