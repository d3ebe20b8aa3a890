/** What a newcomer types first, with npm as it is: the package comes from a registry that has it, all else from npm's own. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { packedTarball } from '../cli/packed.ts';
import { describeWith } from '../describe-with.ts';
import { isReachable, Registry } from '../examples/registry.ts';
import { findNatsServer } from '../nats/nats-server.ts';
import { createEmptyProject, type Project } from './guide/project.ts';
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
    const chapters = ['first-service', 'auth', 'streams', 'tests', 'deploy'];
    if (findNatsServer() !== undefined) chapters.push('many-machines');
    try {
      for (const name of chapters) {
        for (const step of parseStory(read(`docs/guide/${name}.md`))) await terminal.play(step);
      }
    } finally {
      await terminal.close();
    }
  });

  test("the README's first command makes a project whose tests and checks pass", async () => {
    const [, line = ''] = /^ {4}(npx .*tandem init .*)$/m.exec(read('README.md')) ?? [];
    const terminal = new Terminal(project, 'init', false);
    for (const typed of [line, 'cd my-service', 'npm install', 'npm test', 'npm run check']) {
      assert.notEqual(typed, '');
      await terminal.play({ kind: 'command', line: typed, printed: '' });
    }
  });
});
