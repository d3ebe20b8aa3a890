import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { temporaryFolder } from '../files.ts';
import { startApp, suiteLifetime } from '../harness.ts';
import { CommandLine } from './command-line.ts';
import { fixture, runCli } from './process.ts';

const module = fixture('cli/procedures.ts');

describe('tandem diff', () => {
  const folder = temporaryFolder({ after });
  const file = (name: string, content: unknown): string => {
    const path = join(folder, name);
    writeFileSync(path, JSON.stringify(content));
    return path;
  };
  const method = (name: string, schema: object, more: object = {}) => ({
    name,
    params: [{ name: 'p', required: true, schema }],
    result: { name: 'result', schema: { type: 'string' } },
    ...more,
  });
  const document = (...methods: object[]) => ({
    openrpc: '1.4.1',
    info: { title: 'x', version: '1' },
    methods,
  });
  const text = { type: 'string' };
  const old = file('old.json', document(method('users.get', text), method('users.find', text)));
  const commands = CommandLine.suite();
  const lifetime = suiteLifetime();
  let url = '';
  before(async () => {
    ({ url } = await startApp(lifetime, { modules: [module] }));
  });

  it('exits with 0 where documents, URLs and modules say the same', async () => {
    const [openrpc, introspection] = await Promise.all([
      commands.run(['schema', module, '--openrpc']),
      commands.run(['schema', url]),
    ]);
    writeFileSync(join(folder, 'openrpc.json'), openrpc.stdout);
    writeFileSync(join(folder, 'introspection.json'), introspection.stdout);
    const sources = [module, url, join(folder, 'openrpc.json')];
    const pairs = sources.flatMap((a) => sources.map((b) => [a, b] as const));
    pairs.push([join(folder, 'introspection.json'), module]);
    for (const [a, b] of pairs) {
      const { code, stdout, stderr } = await commands.run(['diff', a, b]);
      assert.deepEqual([code, stderr], [0, '']);
      assert.match(stdout, /^compatible: \d+ procedures kept\n$/);
    }
  });

  it('exits with 1 and lists each breach with its path', async () => {
    const fresh = file(
      'new.json',
      document(
        method('users.get', { ...text, maxLength: 9 }),
        method('people.find', text),
        method('users.add', text),
      ),
    );
    const { code, stdout, stderr } = await runCli(['diff', old, fresh]);
    assert.deepEqual([code, stderr], [1, '']);
    assert.deepEqual(stdout.split('\n'), [
      'breaking    users.find: removed; renamed to people.find?',
      'breaking    users.get: params.p: maxLength: was not limited, is 9',
      '2 breaking, 2 added',
      '',
    ]);
    const json = await commands.run(['diff', old, fresh, '--json']);
    assert.equal(json.code, 1);
    assert.deepEqual(JSON.parse(json.stdout), {
      compatible: false,
      findings: [
        {
          kind: 'breaking',
          method: 'users.find',
          path: '',
          reason: 'removed; renamed to people.find?',
        },
        {
          kind: 'breaking',
          method: 'users.get',
          path: 'params.p',
          reason: 'maxLength: was not limited, is 9',
        },
      ],
      added: ['people.find', 'users.add'],
    });
  });

  it("counts what can't be told, unless --allow-unknown is given", async () => {
    const [a, b] = ['^a', '^b'].map((pattern, n) =>
      file(`pattern${n}.json`, document(method('m', { ...text, pattern }))),
    );
    const args = ['diff', a ?? '', b ?? ''];
    const { code, stdout } = await commands.run(args);
    assert.equal(code, 1);
    const line = `can't tell  m: params.p: pattern: was "^a", is "^b"\n1 that can't be told\n`;
    assert.equal(stdout, line);
    const allowed = await commands.run([...args, '--allow-unknown']);
    assert.deepEqual([allowed.code, allowed.stdout], [0, line]);
    const json = await commands.run([...args, '--allow-unknown', '--json']);
    assert.equal((JSON.parse(json.stdout) as { compatible: boolean }).compatible, true);
  });

  for (const [what, args, message] of [
    ['one source', [old], /^tandem: missing required argument 'new': see tandem diff --help\n$/],
    ['an unknown option', [old, old, '--jsn'], /^tandem: unknown option '--jsn'/],
    ['a file that is not there', [old, join(folder, 'none.json')], /^tandem: ENOENT: .*none\.json/],
    [
      'a document of another kind',
      [old, file('other.json', [])],
      /^tandem: .*other\.json: neither an OpenRPC document/,
    ],
    [
      'a reference that leads nowhere',
      [
        old,
        file(
          'nowhere.json',
          document(
            method('users.get', { $ref: '#/components/schemas/A' }),
            method('users.find', text),
          ),
        ),
      ],
      /^tandem: .*: methods\[0\]\.params\[0\]: the \$ref "#\/components\/schemas\/A" leads nowhere in the document\n$/,
    ],
    ['a module without a router', [old, fixture('cli/no-router.mjs')], /^tandem: .*no-router\.mjs/],
    [
      'a server that is not there',
      ['http://127.0.0.1:1/rpc', old],
      /^tandem: GET http:\/\/127\.0\.0\.1:1/,
    ],
  ] as const) {
    it(`exits with 2 and one line for ${what}`, async () => {
      const { code, stdout, stderr } = await commands.run(['diff', ...args]);
      assert.deepEqual([code, stdout], [2, '']);
      assert.match(stderr, message);
      assert.equal(stderr.split('\n').length, 2, stderr);
    });
  }

  it('prints no control characters of a document', async () => {
    const fresh = file('control.json', document());
    const strange = file('strange.json', document(method('evil\u001b[2J', text)));
    const { stdout } = await commands.run(['diff', strange, fresh]);
    assert.ok(!stdout.includes('\u001b'), stdout);
  });
});
