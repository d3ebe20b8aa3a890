import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { describe, it } from 'node:test';
import { createProject } from './guide/project.ts';
import { parseStory } from './guide/story.ts';
import { Terminal } from './guide/terminal.ts';
import { anchors, links, pages, pathOf, publicNames, read } from './pages.ts';

const readme = read('README.md');

describe('README.md', () => {
  it('is short, and begins with the sentence that npm shows for both packages', () => {
    assert.ok(readme.split('\n').length <= 110, 'at most 110 lines');
    const [, sentence = ''] = /^# .+\n\n(.+)\n/.exec(readme) ?? [];
    for (const manifest of ['package.json', 'packages/client/package.json']) {
      const { description } = JSON.parse(read(manifest)) as { description: string };
      assert.ok(description.startsWith(sentence), manifest);
    }
  });

  it('has two files that run as printed, by the packed package in an empty folder', async (t) => {
    const project = await createProject();
    t.after(() => project.remove());
    const terminal = new Terminal(project, 'readme', false);
    t.after(() => terminal.close());
    const steps = parseStory(readme);
    assert.equal(steps.filter(({ kind }) => kind === 'file').length, 2);
    for (const step of steps) await terminal.play(step);
  });

  it('names the scripts of package.json that it runs', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    assert.match(scripts.start ?? '', /serve examples\/procedures\.ts --http-path \/api$/);
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

it('docs/reference/api has every public name', () => {
  const page = read('docs/reference/api/tandem-rpc.md');
  const named = new Set(Array.from(page.matchAll(/^### (\w+)/gm), ([, name]) => name));
  // TypeBox documents these.
  for (const name of ['Static', 'TObject', 'TSchema']) named.add(name);
  const missing = publicNames().filter((name) => !named.has(name));
  assert.ok(publicNames().length > 20, 'the names of src/index.ts were found');
  assert.deepEqual(missing, []);
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

  it('have the sections that the code and the tests name', () => {
    const named = {
      'docs/protocol.md': ['POST /rpc', 'GET /rpc', 'Envelope', 'Batch', 'Errors'],
      'docs/architecture.md': ['Placement'],
    };
    for (const [page, sections] of Object.entries(named)) {
      for (const section of sections) assert.ok(read(page).includes(`\n## ${section}\n`), section);
    }
  });
});
