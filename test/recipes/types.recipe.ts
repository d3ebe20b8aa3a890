import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { startNode } from '../cli/process.ts';
import { compilers, resolutions } from '../compilers.ts';
import { ofFrameworks } from '../docs/guide/chapters.ts';
import { compilerOptions } from '../docs/guide/project.ts';
import { parseStory } from '../docs/guide/story.ts';
import { read } from '../docs/pages.ts';
import { folder } from './folder.ts';

const typed = join(folder, 'types');

/** Writes the files of all pages, each page into a folder of its own. */
function writeFiles(): void {
  rmSync(typed, { recursive: true, force: true });
  for (const page of ofFrameworks) {
    for (const step of parseStory(read(page))) {
      if (step.kind !== 'file') continue;
      const path = join(typed, basename(page, '.md'), step.name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, step.text);
    }
  }
  const options = { ...compilerOptions, lib: ['es2023', 'dom'], experimentalDecorators: true };
  const tsconfig = { compilerOptions: options, include: ['**/*.ts'] };
  writeFileSync(join(typed, 'tsconfig.json'), JSON.stringify(tsconfig));
}

/** The oldest version takes ten times as long as the newest: each with one way to resolve imports. */
const checks = [
  { compiler: compilers[0], resolution: resolutions[0] },
  { compiler: compilers.at(-1), resolution: resolutions[1] },
] as const;

describe('the files of the recipes with frameworks', () => {
  writeFiles();
  for (const { compiler, resolution } of checks) {
    it(`have the right types: TypeScript ${compiler?.version}, ${resolution.name}`, async () => {
      const flags = Object.entries(resolution.options).flatMap(([flag, value]) => [
        `--${flag}`,
        value,
      ]);
      const { code, stdout } = await startNode([compiler?.main ?? '', '-p', typed, ...flags]).exit;
      assert.equal(stdout, '');
      assert.equal(code, 0);
    });
  }
});
