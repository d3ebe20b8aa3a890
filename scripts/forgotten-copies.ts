import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** A copy's name begins with it: who has made the copy may read it for hours, as a soak does. */
export function prefixOf(pid: number): string {
  return `test-${pid}-`;
}

/**
 * Removes what runs that were killed have left: what is older than an hour and whose maker has ended. What is younger stays, since
 * the report of the coverage reads a copy after its maker has ended.
 *
 * @param builds the folder of the copies
 */
export function removeForgotten(builds: string): void {
  for (const name of readdirSync(builds)) {
    const path = join(builds, name);
    const isOld = Date.now() - statSync(path).mtimeMs > 3_600_000;
    // What other scripts have installed here is no copy, and stays.
    const copy = /^(?:test-(\d+)|console|reference)-/.exec(name);
    const maker = copy?.[1];
    if (isOld && copy !== null && (maker === undefined || !isRunning(Number(maker)))) {
      rmSync(path, { recursive: true, force: true });
    }
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // A process of another user may not be asked, but is there.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
