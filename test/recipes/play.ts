/** Plays a recipe in the folder that `npm run test:recipes` has made. */
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Project } from '../docs/guide/project.ts';
import { parseStory } from '../docs/guide/story.ts';
import { Terminal } from '../docs/guide/terminal.ts';
import { read } from '../docs/pages.ts';
import { folder } from './folder.ts';

interface Given {
  /** Of servers that run already: those of the page, and the real ones. */
  readonly ports?: readonly (readonly [page: string, real: string])[];
  /** Folders of programs beside those of PATH. */
  readonly paths?: readonly string[];
  /** Files that the page takes as given. */
  readonly files?: Readonly<Record<string, Uint8Array>>;
}

export interface Recipe {
  readonly folder: string;
  readonly terminal: Terminal;
}

/** Writes every file of a page and runs every command. Its servers go on until `terminal.close()`. */
export async function play(
  name: string,
  { ports = [], paths = [], files = {} }: Given = {},
): Promise<Recipe> {
  const own = join(folder, name);
  rmSync(own, { recursive: true, force: true });
  const PATH = [join(folder, 'commands'), process.env.PATH, ...paths].join(delimiter);
  const project: Project = { folder, env: { PATH }, remove: () => {} };
  const terminal = new Terminal(project, name, true, ports);
  for (const [file, content] of Object.entries(files)) writeFileSync(join(own, file), content);
  try {
    const steps = parseStory(read(`docs/recipes/${name}.md`));
    assert.ok(steps.some(({ kind }) => kind === 'command'));
    for (const step of steps) await terminal.play(step);
  } catch (error) {
    await terminal.close();
    throw error;
  }
  return { folder: own, terminal };
}
