import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { banner, quote, type Served } from '../../src/cli/banner.ts';
import { Router, Type } from '../../src/index.ts';

const bannerFacts = {
  service: ['tandem'],
  url: 'http://127.0.0.1:1/rpc',
  consoleUrl: undefined,
  mcpUrl: undefined,
  httpPath: '',
  introspection: true,
  authenticates: false,
  version: '1',
  hasModules: true,
  processes: 1,
  workers: 1,
  cores: { count: 2, quota: undefined },
  spareWorkers: 0,
  groups: {},
};

describe('the banner', () => {
  it('says of a stream that it is one', () => {
    const router = new Router();
    const { rpc } = router;
    rpc({ name: 'ticks', yields: Type.Integer() }, async function* ticks() {});
    rpc({ name: 'primes', yields: Type.Number(), returns: Type.String() }, function* primes() {
      yield 2;
      return 'all';
    });
    const app: Served = { router, transport: 'node', placementOf: () => 'inline' };
    const text = banner(app, bannerFacts);
    assert.match(text, /^ {2}ticks\(\.\.\.\) -> stream of number +inline/m);
    assert.match(text, /^ {2}primes\(\.\.\.\) -> stream of number, then string +inline/m);
  });

  /** What stands below `Try it:`. */
  const linesOf = (router: Router, facts: Partial<typeof bannerFacts> = {}): string[] => {
    const app: Served = { router, transport: 'node', placementOf: () => 'inline' };
    const lines = banner(app, { ...bannerFacts, ...facts })
      .trimEnd()
      .split('\n');
    const at = lines.indexOf('Try it:');
    return at === -1 ? [] : lines.slice(at + 1);
  };
  /** The call of the curl line. */
  const callOf = (router: Router): unknown => {
    const [line = ''] = linesOf(router);
    return JSON.parse(/ -d '(.*)'$/.exec(line)?.[1] ?? assert.fail(line));
  };
  const open = new Router();
  open.rpc({ name: 'open' }, () => 1);
  const guarded = new Router();
  guarded.rpc(
    { name: 'guarded', params: { a: Type.Number({ examples: [1] }) }, authorize() {} },
    () => 1,
  );
  const curl = /^ {2}curl http:\S+ -H 'content-type: application\/json' -d '\{.*\}'$/;

  it('of a gateway names no workers, since it has none, and says where calls go', () => {
    const app: Served = { router: new Router(), transport: 'node', placementOf: () => 'inline' };
    const text = banner(app, { ...bannerFacts, hasModules: false });
    assert.match(text, /^tandem 1 listens on \S+ \(node:http, no workers, on 2 cores\)$/m);
    assert.match(text, /^ {2}calls go to the members of tandem$/m);
  });

  it('has a curl line with the examples and only values that a procedure declares, and leaves defaults out', () => {
    const router = new Router();
    router.rpc({ name: 'bare', params: {} }, () => null);
    router.rpc({ name: 'undeclared', params: { a: Type.Number(), b: Type.Integer() } }, () => null);
    const params = {
      word: Type.String({ examples: ['mug', 'tee'] }),
      limit: Type.Integer({ default: 10 }),
      kind: Type.Literal('x'),
      at: Type.Object({
        lat: Type.Number({ examples: [52.5] }),
        alt: Type.Optional(Type.Number()),
      }),
      note: Type.Optional(Type.String({ examples: ['left out'] })),
    };
    router.rpc({ name: 'declared', params }, () => null);
    assert.deepEqual(callOf(router), {
      jsonrpc: '2.0',
      id: 1,
      method: 'declared',
      params: { word: 'mug', kind: 'x', at: { lat: 52.5 } },
    });
  });

  it('has one without params where none declares its own, or what it declares is not accepted', () => {
    const router = new Router();
    router.rpc({ name: 'undeclared', params: { a: Type.Number() } }, () => null);
    const code = Type.String({ pattern: '^[0-9]$', examples: ['x'] });
    router.rpc({ name: 'wrong', params: { code } }, () => null);
    // Any value is accepted for it, but none is declared.
    router.rpc({ name: 'any', params: { a: Type.Unknown() } }, () => null);
    const method = 'rpc.discover';
    assert.deepEqual(callOf(router), { jsonrpc: '2.0', id: 1, method });
    assert.deepEqual(linesOf(router, { introspection: false }), []);
    router.rpc({ name: 'bare', params: {} }, () => null);
    assert.deepEqual(callOf(router), { jsonrpc: '2.0', id: 1, method: 'bare' });
  });

  it('asks for the events of a stream', () => {
    const router = new Router();
    router.rpc({ name: 'ticks' }, function* ticks() {
      yield 1;
    });
    const [command = ''] = linesOf(router);
    assert.match(
      command,
      /^ {2}curl http:\S+ -N -H 'accept: text\/event-stream' -H 'content-type: /,
    );
  });

  it('says below the curl line that authenticate asks for more', () => {
    const [command = '', hint] = linesOf(open, { authenticates: true });
    assert.match(command, curl);
    const says =
      "  (authenticate decides who may call: add what it asks for, -H 'authorization: ...' say)";
    assert.equal(hint, says);
  });

  it('says the same of authorize, where no procedure goes without', () => {
    const [, hint] = linesOf(guarded);
    assert.match(hint ?? '', /^ {2}\(authorize of guarded decides who may call: /);
    const both = new Router();
    both.merge(guarded, '');
    both.merge(open, '');
    const [command = '', none] = linesOf(both);
    assert.match(command, /"method":"open"/);
    assert.equal(none, undefined);
  });
  it('names the OpenAPI document where procedures have URLs and are described', () => {
    const link = 'As plain HTTP: http://127.0.0.1:1/openapi.json';
    const httpPath = '/api';
    assert.deepEqual(linesOf(open, { httpPath }).slice(1), [link]);
    assert.deepEqual(linesOf(open, { httpPath, introspection: false }).slice(1), []);
    const url = 'http+unix://%2Frun%2Frpc.sock/rpc';
    const [command = '', ...rest] = linesOf(open, { httpPath, url });
    assert.match(command, /^ {2}curl --unix-socket \/run\/rpc.sock http:\/\/localhost\/rpc -H /);
    assert.deepEqual(rest, []);
  });

  it('names an address that can be reached', () => {
    const url = 'http://[::]:1/rpc';
    const [command = ''] = linesOf(open, { url });
    assert.match(command, /^ {2}curl -g 'http:\/\/\[::1\]:1\/rpc' -H /);
  });
});

describe('quoting', () => {
  const words = [
    '',
    'plain',
    "it's",
    '$(id) `id` $HOME',
    '"a" \\ !!',
    '*?[a]{b}~',
    'a\nb',
    '-',
    '#x',
    '&',
  ];
  it('hands every word to a POSIX shell unchanged', () => {
    const print = 'console.log(JSON.stringify(process.argv.slice(1)))';
    const command = [process.execPath, '-e', print, '--', ...words].map(quote).join(' ');
    const { stdout } = spawnSync('sh', ['-c', command], { encoding: 'utf8' });
    assert.deepEqual(JSON.parse(stdout), words);
  });
});
