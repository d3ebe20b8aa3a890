/** The versions of TypeScript that the package's declarations are written for: each is installed under a name of its own. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './files.ts';

export interface Compiler {
  /** Such as 5.6.3. */
  readonly version: string;
  /** The folder of the package. */
  readonly folder: string;
  /** Its `tsc`. */
  readonly main: string;
}

function compiler(name: string): Compiler {
  const folder = join(root, 'node_modules', name);
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Compiler;
  return { version, folder, main: join(folder, 'bin/tsc') };
}

/** From the oldest to the one that the project itself is compiled with. */
export const compilers: readonly Compiler[] = [
  'typescript-5.6',
  'typescript-5.9',
  'typescript-6',
  'typescript',
].map(compiler);

/** The two ways in which projects of users resolve imports, as options of `tsc`. */
export const resolutions = [
  { name: 'nodenext', options: { module: 'nodenext' } },
  { name: 'bundler', options: { module: 'esnext', moduleResolution: 'bundler' } },
] as const;
