import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Takes the source maps of modules that lie in no file out of what V8 has counted. c8 ends with ERR_INVALID_URL_SCHEME at the first
 * one, and without a report. tsx makes such modules, as `data:` URLs, of TypeScript that ES modules read as CommonJS.
 *
 * @param folder that of NODE_V8_COVERAGE, after all processes have ended
 */
export function makeReadable(folder: string): void {
  for (const name of readdirSync(folder)) {
    const file = join(folder, name);
    const { 'source-map-cache': maps = {}, ...coverage } = JSON.parse(readFileSync(file, 'utf8'));
    const ofFiles = Object.entries(maps).filter(([url]) => url.startsWith('file:'));
    const kept = { ...coverage, 'source-map-cache': Object.fromEntries(ofFiles) };
    writeFileSync(file, JSON.stringify(kept));
  }
}
