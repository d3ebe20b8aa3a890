import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, it } from 'node:test';
import { root, temporaryFolder } from '../files.ts';
import { readme } from './guide/chapters.ts';
import { createProject } from './guide/project.ts';
import { Terminal } from './guide/terminal.ts';
import { anchors, links, pages, pathOf, read } from './pages.ts';

describe('README.md', () => {
  it('serves the examples from a clone, and calls them', async (t) => {
    const folder = temporaryFolder(t);
    const terminal = new Terminal({ folder, env: {}, remove: () => {} }, 'own', false);
    t.after(() => terminal.close());
    const clone = relative(join(folder, 'own'), root);
    await terminal.play({ kind: 'command', line: `cd ${clone}`, printed: '' });
    for (const step of readme.clone) await terminal.play(step);
  });

  it('has two files that run as printed, by the packed package in an empty folder', async (t) => {
    const project = await createProject();
    t.after(() => project.remove());
    const terminal = new Terminal(project, 'readme', false);
    t.after(() => terminal.close());
    assert.equal(readme.project.filter(({ kind }) => kind === 'file').length, 2);
    for (const step of readme.project) await terminal.play(step);
  });

  it('names the scripts of package.json that it runs', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const run = [
      ...pages
        // Its scripts are those of the project that `tandem init` writes.
        .filter((page) => page !== 'docs/codegen.md')
        .map(read)
        .join('\n')
        .matchAll(/npm run ([\w:-]+)/g),
    ];
    assert.ok(run.length > 0);
    for (const [, name = ''] of run) assert.ok(name in scripts, name);
  });
});

describe('the pages', () => {
  for (const page of pages) {
    it(`${page} links to what is there`, () => {
      for (const link of links(read(page))) {
        const [file = '', anchor] = link.split('#');
        const target = file === '' ? pathOf(page) : resolve(dirname(pathOf(page)), file);
        assert.ok(existsSync(target), link);
        if (anchor === undefined) continue;
        const name = relative(pathOf('.'), target);
        assert.ok(anchors(read(name)).has(anchor), link);
      }
    });
  }
});
