import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { before, describe, it, type TestContext } from 'node:test';
import { temporaryFolder } from '../files.ts';
import { listenTo, startApp, suiteLifetime } from '../harness.ts';
import { CommandLine } from './command-line.ts';
import { fixture, runCli, startCli } from './process.ts';

const module = fixture('cli/procedures.ts');
const petstore = fixture('codegen/petstore.json');

/** A server that answers GET with this document, or with the text of one, and every POST with an error. */
async function serveDocument(t: TestContext, answer: (etag: string | undefined) => unknown) {
  const port = await listenTo(t, (request, response) => {
    if (request.method !== 'GET') return void response.writeHead(405).end();
    const body = answer(request.headers['if-none-match']);
    if (body === 304) return void response.writeHead(304).end();
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    response.setHeader('etag', `"${text.length}"`).end(text);
  });
  return `http://127.0.0.1:${port}/`;
}

let url = '';
const lifetime = suiteLifetime();
before(async () => {
  ({ url } = await startApp(lifetime, { modules: [module] }));
});
const commands = CommandLine.suite();

describe('tandem schema', () => {
  for (const [what, more, query] of [
    ['the introspection document', [], ''],
    ['the OpenRPC document with --openrpc', ['--openrpc'], '?format=openrpc'],
  ] as const) {
    it(`prints what the server says, of a module and of a URL: ${what}`, async () => {
      const [fromModule, fromUrl, served] = await Promise.all([
        runCli(['schema', module, ...more]),
        commands.run(['schema', url, ...more]),
        fetch(url + query).then((response) => response.json()),
      ]);
      assert.deepEqual([fromModule.code, fromModule.stderr], [0, '']);
      assert.deepEqual(JSON.parse(fromModule.stdout), served);
      assert.equal(fromUrl.stdout, fromModule.stdout);
      assert.match(fromUrl.stdout, /^\{\n {2}"/);
    });
  }

  it("keeps a module's own output off stdout", async (t) => {
    const file = join(temporaryFolder(t), 'noisy.mjs');
    writeFileSync(
      file,
      `import { Router } from 'tandem-rpc';
console.log('I am here');
setInterval(() => {}, 1000);
export default new Router();`,
    );
    const { code, stdout, stderr } = await runCli(['schema', file]);
    assert.deepEqual([code, stdout, stderr], [0, '{}\n', 'I am here\n']);
  });
});

describe('tandem list', () => {
  it('is a table with types', async () => {
    const { code, stdout } = await runCli(['list', url]);
    assert.equal(code, 0);
    const [head = '', ...rows] = stdout.trimEnd().split('\n');
    assert.match(head, /^PROCEDURE +PARAMS +RESULT +DESCRIPTION$/);
    const add = rows.find((row) => row.startsWith('math.add ')) ?? '';
    assert.match(add, /^math\.add +a: number, b: number +number$/);
    assert.equal(add.indexOf('a: number'), head.indexOf('PARAMS'));
    assert.equal(add.lastIndexOf('number'), head.indexOf('RESULT'));
  });

  it('shows a document of somebody else, whatever its names do', async (t) => {
    const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] };
    const params = [
      { name: 'p', schema, required: true },
      { name: 'q', schema: { enum: [1, 2] } },
    ];
    const methods = [
      { name: 'a\u001b[2J', params, summary: 'First.\nSecond.' },
      { name: 'b', params: [], result: { name: 'r', schema: { $ref: '#/components/schemas/R' } } },
    ];
    const document = { openrpc: '1.3.2', methods, components: { schemas: { R: schema } } };
    const file = join(temporaryFolder(t), 'openrpc.json');
    writeFileSync(file, JSON.stringify(document));
    const { stdout } = await commands.run(['list', file]);
    const [, a, b] = stdout.split('\n');
    assert.match(a ?? '', /^a\\u001b\[2J +p: \{ a: string \}, q\?: 1 \| 2 +unknown +First\.$/);
    assert.match(b ?? '', /^b +- +R$/);
    assert.equal((await commands.run(['list', file, '--names'])).stdout, 'a\\u001b[2J\nb\n');
  });

  it('asks rpc.discover where GET gives nothing', async (t) => {
    const port = await listenTo(t, async (request, response) => {
      if (request.method === 'GET') return void response.writeHead(404).end('<h1>no</h1>');
      const { id, method } = JSON.parse(await text(request)) as Record<string, unknown>;
      const result: unknown =
        method === 'rpc.discover' ? JSON.parse(readFileSync(petstore, 'utf8')) : null;
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    });
    const { stdout } = await commands.run(['list', `http://127.0.0.1:${port}/`, '--names']);
    assert.equal(stdout, 'create_pet\nget_pet\nlist_pets\n');
  });
});

describe('tandem codegen', () => {
  it('prints without --out, the same from every source', async (t) => {
    const file = join(temporaryFolder(t), 'schema.json');
    writeFileSync(file, JSON.stringify(await (await fetch(url)).json()));
    const openRpc = await (await fetch(`${url}?format=openrpc`)).text();
    const stdin = startCli(['codegen', '-']);
    stdin.child.stdin?.end(openRpc);
    const all = await Promise.all([
      commands.run(['codegen', module]),
      commands.run(['codegen', url]),
      commands.run(['codegen', file]),
      stdin.exit,
    ]);
    assert.match(all[0].stdout, /^\/\/ Generated by `tandem codegen`[\s\S]+'math\.add': \{/);
    for (const { code, stdout, stderr } of all) {
      assert.deepEqual([code, stderr], [0, '']);
      assert.equal(stdout, all[0].stdout);
    }
  });

  it('writes what is new, and says whether it did', async (t) => {
    const out = join(temporaryFolder(t), 'deep', 'er', 'api.ts');
    const first = await commands.run(['codegen', petstore, '--out', out]);
    assert.equal(first.stdout, `wrote ${out}: 3 procedures\n`);
    // What a checkout on Windows makes of it.
    writeFileSync(out, readFileSync(out, 'utf8').replaceAll('\n', '\r\n'));
    const [again, checked] = await Promise.all([
      commands.run(['codegen', petstore, '--out', out]),
      commands.run(['codegen', petstore, '--out', out, '--check']),
    ]);
    assert.equal(again.stdout, `${out} is current: 3 procedures\n`);
    assert.deepEqual([checked.code, checked.stdout], [0, again.stdout]);
  });

  it('overwrites nothing that it has not written', async (t) => {
    const out = join(temporaryFolder(t), 'mine.ts');
    writeFileSync(out, 'export const mine = 1;\n');
    const { code, stderr } = await commands.run(['codegen', petstore, '--out', out]);
    assert.equal(code, 1);
    assert.match(stderr, /mine\.ts was not written by tandem codegen/);
    assert.equal(readFileSync(out, 'utf8'), 'export const mine = 1;\n');
  });

  it('--check without a file tells how to make it', async (t) => {
    const out = join(temporaryFolder(t), 'api.ts');
    const { code, stdout, stderr } = await commands.run([
      'codegen',
      petstore,
      '--out',
      out,
      '--check',
    ]);
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, /api\.ts does not exist: run tandem codegen .+ --out .+api\.ts\n$/);
    assert.ok(!existsSync(out));
  });

  it('--watch follows a module, through its mistakes', async (t) => {
    const folder = temporaryFolder(t);
    const [file, out] = [join(folder, 'procedures.ts'), join(folder, 'api.ts')];
    const source = (name: string): string =>
      `import { Router } from 'tandem-rpc';
const router = new Router();
router.rpc(function ${name}() { return 1; });
export default router;`;
    writeFileSync(file, source('one'));
    const watching = startCli(['codegen', file, '--out', out, '--watch']);
    t.after(() => watching.child.kill());
    await watching.seen('stdout', /wrote .+\n/);
    assert.match(readFileSync(out, 'utf8'), / {2}one: \{/);
    writeFileSync(file, 'export default {{{');
    await watching.seen('stderr', /tandem: .*[Ss]yntax ?error.*\n/);
    writeFileSync(file, source('two'));
    await watching.seen('stdout', /wrote .+\n(?:.*\n)*wrote .+\n/);
    assert.match(readFileSync(out, 'utf8'), / {2}two: \{/);
  });

  it('--watch asks a URL again, by its ETag', async (t) => {
    let name = 'one';
    const asked: (string | undefined)[] = [];
    let unchanged: () => void = () => {};
    const kept = new Promise<void>((resolve) => {
      unchanged = resolve;
    });
    const address = await serveDocument(t, (etag) => {
      asked.push(etag);
      const document = { openrpc: '1.3.2', methods: [{ name, params: [] }] };
      if (etag !== `"${JSON.stringify(document).length}"`) return document;
      unchanged();
      return 304;
    });
    const out = join(temporaryFolder(t), 'api.ts');
    const args = ['codegen', address, '--out', out, '--watch', '--interval', '20ms'];
    const watching = startCli(args);
    t.after(() => watching.child.kill());
    await kept;
    assert.equal(asked[0], undefined);
    name = 'another';
    await watching.seen('stdout', /wrote .+\nwrote .+\n/);
    assert.match(readFileSync(out, 'utf8'), / {2}another: \{/);
    const note = (one: string) =>
      `tandem: 1 procedure has no \`returns\`: its result is neither projected nor checked: ${one}\n`;
    // It has come by another pipe than the lines of stdout.
    await watching.seen('stderr', /another\n$/);
    assert.equal(watching.stderr, note('one') + note('another'));
  });
});

/** Of one procedure with one parameter, whose schema has so many levels: as text, which nobody has to recurse for. */
function introspection(levels: number): string {
  const parameter = `{"name":"x","type":"x","schema_":${nested(levels)},"required":true}`;
  return `{"p":{"name":"p","namespace":null,"parameters":[${parameter}],"return_type":"x","return_schema":{},"doc":null,"is_async":false}}`;
}

function openRpc(levels: number): string {
  const method = `{"name":"p","params":[{"name":"x","schema":${nested(levels)}}]}`;
  return `{"openrpc":"1.3.2","info":{"title":"t","version":"1"},"methods":[${method}]}`;
}

function nested(levels: number): string {
  return `${'{"not":'.repeat(levels)}{}${'}'.repeat(levels)}`;
}

describe('a mistake is one line', () => {
  const broken = (t: TestContext, text: string): string => {
    const file = join(temporaryFolder(t), 'broken.json');
    writeFileSync(file, text);
    return file;
  };
  const mistakes: readonly (readonly [
    what: string,
    args: (t: TestContext) => string[] | Promise<string[]>,
    says: RegExp,
  ])[] = [
    ['no source', () => ['codegen'], /missing required argument 'source'/],
    ['--check alone', () => ['codegen', petstore, '--check'], /--check needs --out/],
    ['--watch alone', () => ['codegen', petstore, '--watch'], /--watch needs --out/],
    [
      'both',
      () => ['codegen', petstore, '--out', 'x.ts', '--check', '--watch'],
      /give one of them/,
    ],
    ['a module that is not there', () => ['codegen', './none.ts'], /none\.ts not found/],
    ['a document that is not there', () => ['codegen', './none.json'], /ENOENT.*none\.json/],
    ['a document that is not JSON', (t) => ['codegen', broken(t, '{')], /broken\.json is not JSON/],
    [
      'JSON that is no document',
      (t) => ['codegen', broken(t, '[1]')],
      /broken\.json: neither an OpenRPC/,
    ],
    [
      'an introspection document that nests for ever',
      (t) => ['codegen', broken(t, `{"a":${'['.repeat(9999)}${']'.repeat(9999)}}`)],
      /broken\.json: the document nests deeper/,
    ],
    ...['schema', 'list', 'codegen'].flatMap((command) =>
      [introspection, openRpc].map((documentOf): (typeof mistakes)[number] => [
        `a server whose ${documentOf.name} document nests for ever: ${command}`,
        async (t) => [command, await serveDocument(t, () => documentOf(100_000))],
        /^tandem: http:\S+: the document nests (?:too deep|deeper than 200 levels)\n$/,
      ]),
    ),
    [
      'a device for the output',
      () => ['codegen', module, '--out', '/dev/null'],
      /is no file: name/,
    ],
    ['a folder for the output', () => ['codegen', module, '--out', tmpdir()], /is no file: name/],
    [
      'a module whose exports can not be looked at',
      (t) => {
        const file = join(temporaryFolder(t), 'trap.mjs');
        const trap = 'new Proxy({}, { get() { throw new Error("trap"); } })';
        writeFileSync(file, `export default ${trap};\n`);
        return ['list', file];
      },
      /cannot use \S+trap\.mjs: an export that is looked at throws/,
    ],
    [
      'a $ref to a file',
      (t) => {
        const schema = { $ref: 'file:///etc/passwd' };
        const methods = [{ name: 'a', params: [{ name: 'p', schema }] }];
        return ['codegen', broken(t, JSON.stringify({ openrpc: '1.3.2', methods }))];
      },
      /methods\[0\]\S*: the \$ref "file:\/\/\/etc\/passwd" leads out of the document/,
    ],
    ['a scheme that is not read', () => ['schema', 'ftp://example.com/'], /only http and https/],
    [
      'a server that is not there',
      () => ['list', 'http://127.0.0.1:1/rpc'],
      /GET http:\/\/127\.0\.0\.1:1/,
    ],
    [
      'a server that has no document',
      async (t) => ['list', await serveDocument(t, () => ['hello'])],
      /no document of procedures at http:\S+: GET gave something else, rpc\.discover /,
    ],
    ['a document where a module is needed', () => ['schema', petstore], /is a document already/],
  ];
  for (const [what, args, says] of mistakes) {
    it(what, async (t) => {
      const { code, stdout, stderr } = await commands.run(await args(t));
      assert.deepEqual([code, stdout], [1, '']);
      assert.match(stderr, says);
      assert.match(stderr, /^tandem: [^\n]+\n$/);
    });
  }
});

describe('the help', () => {
  for (const command of ['codegen', 'schema', 'call', 'list', 'init']) {
    it(`of ${command} has examples`, async () => {
      const { code, stdout } = await commands.run([command, '--help']);
      assert.equal(code, 0);
      assert.match(stdout, new RegExp(`^Usage: tandem ${command} `));
      assert.match(stdout, /\nExamples:\n {2}\S/);
      assert.ok(
        stdout.split('\n').every((line) => line.length <= 100),
        stdout,
      );
    });
  }
});
