import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A version as semver has it. */
export const semver =
  /^(?:0|[1-9]\d{0,8})\.(?:0|[1-9]\d{0,8})\.(?:0|[1-9]\d{0,8})(?:-[\w.-]{1,64})?(?:\+[\w.-]{1,64})?$/;

/** The version in the nearest package.json at `folder` or above it; 0.0.0 where there is none, or no usable one. */
export function packageVersion(folder: string): string {
  try {
    const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
      version?: unknown;
    };
    return typeof version === 'string' && semver.test(version) ? version : '0.0.0';
  } catch (error) {
    const above = dirname(folder);
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    return isMissing && above !== folder ? packageVersion(above) : '0.0.0';
  }
}
