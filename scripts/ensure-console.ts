/**
 * Before `npm start`: builds the page of the console where these sources have none yet. Where that can't
 * be, the service starts without it.
 */
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../src/core/base/message-of.ts';
import { keptConsole } from './console.ts';
import { root } from './script.ts';

const to = join(root, 'dist/console');
try {
  const onBuild = (): void => console.log('building the console, once for these sources');
  rmSync(to, { recursive: true, force: true });
  cpSync(await keptConsole(root, join(root, '.build'), onBuild), to, { recursive: true });
} catch (error) {
  console.log(`the console could not be built, so there is none: ${messageOf(error)}`);
}
