/** `tandem schema --openapi`, and what other commands say of its document. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { CommandLine } from '../cli/command-line.ts';
import { fixture } from '../cli/process.ts';
import { temporaryFolder } from '../files.ts';
import { listenTo, suiteLifetime } from '../harness.ts';

const module = fixture('cli/procedures.ts');
const commands = CommandLine.suite();

const lifetime = suiteLifetime();
const folder = temporaryFolder(lifetime);
const file = join(folder, 'openapi.json');
/** What the server gives for a GET, by the format that the query asks for. */
const answers = new Map<string | null, string>();
let url = '';

interface Printed {
  readonly paths: Record<string, unknown>;
  readonly info: { readonly title: string };
  readonly servers?: unknown;
  readonly security: unknown;
}

before(async () => {
  const port = await listenTo(lifetime, ({ method, url = '' }, response) => {
    const format = new URL(url, 'http://x').searchParams.get('format');
    const answer = method === 'GET' ? answers.get(format) : undefined;
    if (answer === undefined) response.writeHead(400).end();
    else response.end(answer);
  });
  url = `http://127.0.0.1:${port}/rpc`;
  const { stdout } = await commands.run(['schema', module, '--openapi']);
  writeFileSync(file, stdout);
  answers.set('openapi', stdout);
});

async function printed(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Printed> {
  const { code, stdout, stderr } = await commands.run(
    ['schema', module, '--openapi', ...args],
    env,
  );
  assert.deepEqual([code, stderr], [0, '']);
  return JSON.parse(stdout) as Printed;
}

describe('tandem schema --openapi', () => {
  test('prints the document of a module, below /api unless it is said otherwise', async () => {
    const usual = await printed([]);
    const paths = Object.keys(usual.paths);
    assert.ok(paths.length > 1 && paths.every((path) => path.startsWith('/api/')));
    assert.deepEqual(
      [usual.info.title, usual.servers, usual.security],
      ['tandem-rpc', undefined, []],
    );
    const names = paths.map((path) => path.slice('/api/'.length));
    const flags = ['--http-path', '/v1', '--http-procedures', names[0] ?? ''];
    const other = await printed([
      ...flags,
      '--http-auth',
      'basic',
      '--public-url',
      'https://x.org',
    ]);
    assert.deepEqual(Object.keys(other.paths), [`/v1/${names[0]}`]);
    assert.deepEqual(other.servers, [{ url: 'https://x.org' }]);
    assert.deepEqual(other.security, [{ auth: [] }]);
  });

  test('reads the variables of a service', async () => {
    const env = { TANDEM_HTTP_PATH: '/v2', TANDEM_HTTP_AUTH: 'cookie:sid' };
    const { paths, security } = await printed([], env);
    assert.ok(Object.keys(paths).every((path) => path.startsWith('/v2/')));
    assert.deepEqual(security, [{ auth: [] }]);
    const first = Object.keys((await printed(['--http-path', '/v3'], env)).paths)[0] ?? '';
    assert.ok(first.startsWith('/v3/'), 'a flag counts more');
  });

  test('prints what a server says', async () => {
    const { stdout, code } = await commands.run(['schema', url, '--openapi']);
    assert.equal(code, 0);
    assert.equal(`${stdout}`, answers.get('openapi'));
  });

  test('has one line for each mistake', async () => {
    for (const [args, line] of [
      [[module, '--openapi', '--openrpc'], /--openrpc and --openapi: give one of them/],
      [[module, '--http-path', '/x'], /--http-path is about the OpenAPI document of a module/],
      [[url, '--openapi', '--public-url', 'https://x.org'], /--public-url is about the OpenAPI/],
      [[module, '--openapi', '--http-path', 'none'], /option httpPath is none/],
      [[module, '--openapi', '--http-path', 'x'], /--http-path: expected none, or a path like/],
      [[file, '--openapi'], /is a document already/],
    ] as const) {
      const { code, stdout, stderr } = await commands.run(['schema', ...args]);
      assert.deepEqual([code, stdout], [1, ''], args.join(' '));
      assert.match(stderr, line);
      assert.equal(stderr.trim().split('\n').length, 1, stderr);
    }
  });

  test('says what a server gives in place of the document', async () => {
    const before = answers.get('openapi') ?? '';
    for (const [answer, what] of [
      [undefined, 'the status 400'],
      ['{"openrpc":"1.4.1","methods":[]}', 'something else'],
      ['<html>', 'something else'],
    ] as const) {
      if (answer === undefined) answers.delete('openapi');
      else answers.set('openapi', answer);
      const { code, stderr } = await commands.run(['schema', url, '--openapi']);
      assert.equal(code, 1);
      assert.match(
        stderr,
        new RegExp(
          `^tandem: no OpenAPI document at \\S+: GET gave ${what}; a service has one with the option httpPath\\n$`,
        ),
      );
    }
    answers.set('openapi', before);
  });
});

describe('an OpenAPI document', () => {
  test('is refused in one line as a source of diff, codegen and list', async () => {
    answers.set('openrpc', answers.get('openapi') ?? '');
    for (const args of [
      ['diff', file, module],
      ['codegen', url],
      ['list', file, '--names'],
    ]) {
      const { code, stdout, stderr } = await commands.run(args);
      assert.notEqual(code, 0);
      assert.equal(stdout, '');
      assert.match(stderr, /^tandem: \S+: an OpenAPI document: use the OpenRPC document[^\n]*\n$/);
    }
  });
});
