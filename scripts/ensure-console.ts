/**
 * Before `npm start` and `npm run dev`: builds the page of the console where these sources have none yet. Where that can't
 * be, the service starts without it.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { messageOf } from '../src/base/message-of.ts';
import { copyConsole } from './copy-console.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const to = join(root, 'dist/console');
try {
  const onBuild = (): void => console.log('building the console, once for these sources');
  rmSync(to, { recursive: true, force: true });
  copyConsole(root, join(root, '.build'), to, onBuild);
} catch (error) {
  console.log(`the console could not be built, so there is none: ${messageOf(error)}`);
}
