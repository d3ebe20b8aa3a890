import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { startServer } from '../cli/process.ts';
import {
  anchors,
  answerPattern,
  type Exchange,
  exchanges,
  fences,
  links,
  pages,
  pathOf,
  publicNames,
  read,
} from './pages.ts';

const readme = read('README.md');
const [hello] = exchanges(readme);

/** Serves a module as `tandem serve` does; the port of the README is free on few machines. */
async function serve(t: TestContext, module: string): Promise<string> {
  const { server, url } = await startServer([module]);
  t.after(async () => {
    server.child.kill('SIGTERM');
    await server.exit;
  });
  return new URL(url).origin;
}

/** fetch in place of curl, which not every machine has: the same bytes, as `exchanges` reads no other form. */
async function assertAnswered(origin: string, { path, body, answer }: Exchange): Promise<void> {
  const post = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: body ?? '',
  };
  const response = await fetch(origin + path, body === undefined ? {} : post);
  assert.match(await response.text(), answerPattern(answer));
}

describe('README.md', () => {
  it('begins with a module that answers as it says', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'tandem-rpc-readme-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const module = fences(readme).find(({ text }) => text.startsWith('// hello.ts\n'));
    assert.ok(module !== undefined && hello !== undefined);
    writeFileSync(join(folder, 'hello.ts'), module.text);
    await assertAnswered(await serve(t, join(folder, 'hello.ts')), hello);
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

describe('the comparison with a printed answer', () => {
  it('takes "…" for any string, a … at the end for the rest, and nothing else', () => {
    const pattern = answerPattern('{"a":"…",\n "b":[1]}');
    assert.match('{"a":"x\\"y","b":[1]}', pattern);
    assert.doesNotMatch('{"a":"","b":[1]}', pattern);
    assert.doesNotMatch('{"a":1,"b":[1]}', pattern);
    assert.doesNotMatch('{"a":"x","b":[1],"c":2}', pattern);
    assert.doesNotMatch('{"a":"x","b":[2]}', pattern);
    assert.match('{"a":1,"b":2}', answerPattern('{"a":1,…'));
    assert.doesNotMatch('{"a":1', answerPattern('{"a":1,…'));
    assert.throws(() => answerPattern('{…}'));
  });
});
