/** `npm run build:console [-- FOLDER]`: builds the page of the console alone, by default into dist/console. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { messageOf } from '../src/core/base/message-of.ts';
import { buildConsole } from './console.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
try {
  await buildConsole(root, process.argv[2] ?? join(root, 'dist/console'));
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}
