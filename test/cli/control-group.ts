import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Makes a control group with one limit.
 *
 * @param files of the limit, by the folders of their controllers in /sys/fs/cgroup; the first that can be written is taken
 * @returns its folder; undefined: this process may make none
 */
export function makeGroup(
  files: Readonly<Record<string, string>>,
  limit: number | 'max',
): string | undefined {
  for (const [controller, file] of Object.entries(files)) {
    const group = join('/sys/fs/cgroup', controller, `tandem-test-${process.pid}`);
    try {
      mkdirSync(group);
    } catch {
      continue;
    }
    try {
      writeFileSync(join(group, file), String(limit));
      return group;
    } catch {
      rmdirSync(group);
    }
  }
  return undefined;
}
