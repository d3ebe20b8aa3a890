import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

interface Coverage {
  'source-map-cache'?: Record<string, unknown>;
}

/**
 * Takes the source maps of modules that lie in no file out of what V8 has counted. c8 ends with ERR_INVALID_URL_SCHEME at the first
 * one, and without a report. tsx makes such modules, as `data:` URLs, of TypeScript that ES modules read as CommonJS.
 *
 * @param folder that of NODE_V8_COVERAGE, after all processes have ended
 */
export function makeReadable(folder: string): void {
  for (const name of readdirSync(folder)) {
    const file = join(folder, name);
    const coverage: Coverage = JSON.parse(readFileSync(file, 'utf8'));
    const maps = Object.entries(coverage['source-map-cache'] ?? {});
    const ofFiles = maps.filter(([url]) => url.startsWith('file:'));
    if (ofFiles.length === maps.length) continue;
    coverage['source-map-cache'] = Object.fromEntries(ofFiles);
    writeFileSync(file, JSON.stringify(coverage));
  }
}
