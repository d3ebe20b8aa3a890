import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The project's folder, found from the sources and from the compiled files alike. */
const root = findRoot(dirname(fileURLToPath(import.meta.url)));

function findRoot(from: string): string {
  if (existsSync(join(from, 'package-lock.json'))) return from;
  if (dirname(from) === from) throw new Error('the benchmark runs in a checkout of the project');
  return findRoot(dirname(from));
}

export function rootPath(name = ''): string {
  return join(root, name);
}
