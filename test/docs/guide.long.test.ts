/** Plays the pages of docs/guide and docs/recipes, docs/compare.md and docs/mcp.md, with the packed package: every file is written, every command is run. */
import assert from 'node:assert/strict';
import { basename } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startNode } from '../cli/process.ts';
import { compilers, resolutions } from '../compilers.ts';
import { findProgram, isRegistryReachable } from '../programs.ts';
import { chapters, ofNewcomers } from './guide/chapters.ts';
import { createProject, type Project } from './guide/project.ts';
import { parseStory } from './guide/story.ts';
import { Terminal } from './guide/terminal.ts';
import { read } from './pages.ts';

/** Played by first-contact.long.test.ts, where it has npm's registry. */
const elsewhere = (await isRegistryReachable()) ? ofNewcomers : [];
const here = chapters.filter((page) => !elsewhere.includes(page));

/** Pages that start a program which npm does not have. In CI each of them must be there. */
const programs: Readonly<Record<string, string>> = {
  'docs/recipes/python.md': 'python3',
  'docs/recipes/go.md': 'go',
};

function missingProgram(page: string): string | undefined {
  const program = programs[page];
  if (program === undefined || findProgram(program) !== undefined) return undefined;
  return `needs ${program}`;
}

/** The types of the folders of all pages are checked together: each page has its own. */
const pages = [...here, 'docs/compare.md', 'docs/mcp.md'];

describe('the guide, played with the packed package', () => {
  let project: Project;
  before(async () => {
    project = await createProject();
  });
  after(() => project.remove());

  for (const page of pages) {
    const missing = missingProgram(page);
    it(page, { skip: (process.env.CI ?? '') === '' && missing }, async () => {
      assert.equal(missing, undefined);
      const steps = parseStory(read(page));
      assert.ok(steps.some(({ kind }) => kind === 'command'));
      const makesProject = steps.some(
        (step) => step.kind === 'command' && step.line === 'npm init -y',
      );
      const terminal = new Terminal(project, basename(page, '.md'), !makesProject);
      try {
        for (const step of steps) await terminal.play(step);
      } finally {
        await terminal.close();
      }
    });
  }

  for (const { version, main } of compilers) {
    for (const { name, options } of resolutions) {
      it(`has files with the right types: TypeScript ${version}, ${name}`, async () => {
        const flags = Object.entries(options).flatMap(([flag, value]) => [`--${flag}`, value]);
        const { stdout } = await startNode([main, '-p', project.folder, ...flags]).exit;
        assert.equal(stdout, '');
      });
    }
  }
});
