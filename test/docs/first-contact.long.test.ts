/** What a newcomer types first, with npm as it is: the package is the file that `npm pack` makes in a clone, all else comes from npm's registry. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { describeWith } from '../describe-with.ts';
import { isRegistryReachable } from '../programs.ts';
import { installed, ofNewcomers, readme } from './guide/chapters.ts';
import { compilerOptions, createEmptyProject, type Project } from './guide/project.ts';
import { parseStory } from './guide/story.ts';
import { Terminal } from './guide/terminal.ts';
import { read } from './pages.ts';

const npm = (await isRegistryReachable()) ? 'npm' : undefined;

describeWith(npm, "needs npm's registry", 'first contact', () => {
  let project: Project;
  before(async () => {
    project = await createEmptyProject();
  });
  after(() => project.remove());

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

  test("the README's two files, in another folder, and a project that tandem init writes there", async () => {
    const terminal = new Terminal(project, 'readme', false);
    try {
      for (const step of readme.project) await terminal.play(step);
      const [, line = ''] = /`(npx tandem init .*?)`/.exec(read('README.md')) ?? [];
      for (const typed of [line, 'cd my-service', 'npm install', 'npm test', 'npm run check']) {
        assert.notEqual(typed, '');
        await terminal.play({ kind: 'command', line: typed, printed: '' });
      }
    } finally {
      await terminal.close();
    }
  });
});
