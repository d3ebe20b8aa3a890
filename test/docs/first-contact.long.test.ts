/** What a newcomer types first, with npm as it is: the package comes from a registry that has it, all else from npm's own. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { packedTarball } from '../cli/packed.ts';
import { describeWith } from '../describe-with.ts';
import { isReachable, Registry } from '../examples/registry.ts';
import { installed, ofNewcomers } from './guide/chapters.ts';
import { compilerOptions, createEmptyProject, type Project } from './guide/project.ts';
import { parseStory } from './guide/story.ts';
import { Terminal } from './guide/terminal.ts';
import { read } from './pages.ts';

const npm = (await isReachable()) ? 'npm' : undefined;

describeWith(npm, "needs npm's registry", 'first contact', () => {
  let registry: Registry;
  let project: Project;
  before(async () => {
    registry = await Registry.start(await packedTarball());
    project = createEmptyProject(registry.url);
  });
  after(async () => {
    project.remove();
    await registry.close();
  });

  test('the guide, one chapter after another in one folder that was empty', async () => {
    const terminal = new Terminal(project, 'guide', false);
    try {
      for (const page of ofNewcomers) {
        for (const step of parseStory(read(page))) await terminal.play(step);
      }
      // The files have the right types, by the compiler that a chapter has installed.
      const config = JSON.stringify({ compilerOptions, include: ['*.ts'] });
      await terminal.play({ kind: 'file', name: 'tsconfig.json', text: config });
      await terminal.play({ kind: 'command', line: 'npx tsc -p .', printed: '' });
      // What the other chapters install is there, in versions that go with each other.
      const names = installed();
      assert.ok(names.length > 5);
      const line = `npm install --dry-run ${names.join(' ')}`;
      await terminal.play({ kind: 'command', line, printed: '' });
    } finally {
      await terminal.close();
    }
  });

  test("the README's two files, in another folder", async () => {
    const terminal = new Terminal(project, 'readme', false);
    try {
      for (const step of parseStory(read('README.md'))) await terminal.play(step);
    } finally {
      await terminal.close();
    }
  });

  test("the README's command makes a project whose tests and checks pass", async () => {
    const [, line = ''] = /`(npx .*tandem init .*?)`/.exec(read('README.md')) ?? [];
    const terminal = new Terminal(project, 'init', false);
    for (const typed of [line, 'cd my-service', 'npm install', 'npm test', 'npm run check']) {
      assert.notEqual(typed, '');
      await terminal.play({ kind: 'command', line: typed, printed: '' });
    }
  });
});
