import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import type { TObject } from '@sinclair/typebox';
import { banner, exampleCall, quote, type Served } from '../../src/cli/banner.ts';
import type { Procedure } from '../../src/core/procedures/types.ts';
import { Operations } from '../../src/extras/openapi/operation.ts';
import { Router, Type } from '../../src/index.ts';

function routerWith(...params: TObject[]): Router {
  const router = new Router();
  params.forEach((schema, index) => {
    router.rpc({ name: `procedure${index}`, params: schema }, () => null);
  });
  return router;
}

const schemas: Record<string, TObject> = {
  numbers: Type.Object({
    a: Type.Number(),
    b: Type.Integer({ minimum: 10, maximum: 12 }),
    c: Type.Number({ exclusiveMinimum: 0, exclusiveMaximum: 5 }),
    d: Type.Integer({ multipleOf: 25, minimum: 100 }),
  }),
  strings: Type.Object({
    email: Type.String({ format: 'email' }),
    day: Type.String({ format: 'date' }),
    id: Type.String({ format: 'uuid' }),
    long: Type.String({ minLength: 40 }),
    short: Type.String({ maxLength: 2 }),
    code: Type.String({ pattern: '^[A-Z]{3}$', examples: ['ABC'] }),
  }),
  choices: Type.Object({
    literal: Type.Literal('x'),
    union: Type.Union([Type.Literal('a'), Type.Literal('b')]),
    either: Type.Union([Type.Object({ kind: Type.Literal('one') }), Type.Null()]),
    flag: Type.Boolean(),
    nothing: Type.Null(),
  }),
  nested: Type.Object({
    list: Type.Array(Type.Object({ n: Type.Integer() }), { minItems: 3 }),
    pair: Type.Tuple([Type.String(), Type.Number()]),
    record: Type.Record(Type.String(), Type.Number()),
    both: Type.Intersect([Type.Object({ a: Type.Number() }), Type.Object({ b: Type.String() })]),
    anything: Type.Unknown(),
  }),
};

describe('the example call', () => {
  for (const [kind, schema] of Object.entries(schemas)) {
    it(`has arguments that the procedure accepts: ${kind}`, () => {
      const router = routerWith(schema);
      const call = exampleCall(router);
      assert.deepEqual(Object.keys(call?.params ?? {}), Object.keys(schema.properties));
      assert.doesNotThrow(() => router.get('procedure0')?.bindParams(call?.params));
    });
  }

  it('tells arguments of one type apart', () => {
    const call = exampleCall(routerWith(Type.Object({ a: Type.Number(), b: Type.Number() })));
    assert.notEqual(call?.params?.a, call?.params?.b);
  });

  it('leaves optional parameters out', () => {
    const schema = Type.Object({ a: Type.Number(), b: Type.Optional(Type.Number()) });
    assert.deepEqual(Object.keys(exampleCall(routerWith(schema))?.params ?? {}), ['a']);
  });

  it('passes over a procedure that it finds no arguments for', () => {
    const impossible = Type.Object({ code: Type.String({ pattern: '^[0-9]{7}Z$' }) });
    const call = exampleCall(routerWith(impossible, Type.Object({ a: Type.Number() })));
    assert.equal(call?.method, 'procedure1');
    assert.equal(exampleCall(routerWith(impossible)), undefined);
  });

  it('prefers a procedure with arguments to one without', () => {
    const call = exampleCall(routerWith(Type.Object({}), Type.Object({ a: Type.Number() })));
    assert.equal(call?.method, 'procedure1');
    assert.deepEqual(exampleCall(routerWith(Type.Object({}))), {
      jsonrpc: '2.0',
      id: 1,
      method: 'procedure0',
    });
  });
});

const bannerFacts = {
  service: ['tandem'],
  url: 'http://127.0.0.1:1/rpc',
  consoleUrl: undefined,
  mcpUrl: undefined,
  plainHttp: undefined,
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
    const text = banner(app, { ...bannerFacts, authenticates: false });
    assert.match(text, /^ {2}ticks\(\.\.\.\) -> stream of number +inline/m);
    assert.match(text, /^ {2}primes\(\.\.\.\) -> stream of number, then string +inline/m);
  });

  const linesOf = (router: Router, authenticates: boolean): string[] => {
    const app: Served = { router, transport: 'node', placementOf: () => 'inline' };
    const lines = banner(app, { ...bannerFacts, authenticates }).split('\n');
    return lines.slice(lines.indexOf('Try it:') + 1);
  };
  const open = new Router();
  open.rpc({ name: 'open' }, () => 1);
  const guarded = new Router();
  guarded.rpc(
    { name: 'guarded', params: Type.Object({ a: Type.Number() }), authorize() {} },
    () => 1,
  );
  const curl = /^ {2}curl http:\S+ -H 'content-type: application\/json' -d '\{.*\}'$/;

  it('of a gateway names no workers, since it has none, and says where calls go', () => {
    const app: Served = { router: new Router(), transport: 'node', placementOf: () => 'inline' };
    const text = banner(app, { ...bannerFacts, hasModules: false, authenticates: false });
    assert.match(text, /^tandem 1 listens on \S+ \(node:http, no workers, on 2 cores\)$/m);
    assert.match(text, /^ {2}calls go to the members of tandem$/m);
  });

  it('says nothing of hooks where there are none', () => {
    const [command = '', ...rest] = linesOf(open, false);
    assert.match(command, curl);
    assert.deepEqual(rest, ['', '']);
  });

  it('asks for the events of a stream', () => {
    const router = new Router();
    router.rpc({ name: 'ticks' }, function* ticks() {
      yield 1;
    });
    const [command = ''] = linesOf(router, false);
    assert.match(
      command,
      /^ {2}curl http:\S+ -N -H 'accept: text\/event-stream' -H 'content-type: /,
    );
  });

  it('says below the curl line that authenticate asks for more', () => {
    const [command = '', hint] = linesOf(open, true);
    assert.match(command, curl);
    const says =
      "  (authenticate decides who may call: add what it asks for, -H 'authorization: ...' say)";
    assert.equal(hint, says);
  });

  it('says the same of authorize, where no procedure goes without', () => {
    const [, hint] = linesOf(guarded, false);
    assert.match(hint ?? '', /^ {2}\(authorize of guarded decides who may call: /);
    const both = new Router();
    both.merge(guarded, '');
    both.merge(open, '');
    const [command = '', none] = linesOf(both, false);
    assert.match(command, /"method":"open"/);
    assert.equal(none, '');
  });
});

describe('the banner of a service with plain HTTP', () => {
  const readOnly = { readOnly: true } as const;
  const read = { name: 'find', effects: readOnly };

  function tries(router: Router, { url = 'http://127.0.0.1:1/rpc', introspection = true } = {}) {
    const table = new Map(router.list().map((name) => [name, router.get(name) as Procedure]));
    const operations = new Operations(table, [], false);
    const app: Served = { router, transport: 'node', placementOf: () => 'inline' };
    const text = banner(app, {
      ...bannerFacts,
      url,
      authenticates: false,
      plainHttp: { httpPath: '/api', introspection, operations },
    });
    const [, , curl, ...links] = text.slice(text.indexOf('Try it:')).trimEnd().split('\n');
    return { curl, links };
  }

  it('shows the URL of a read whose params fit a query, and the curl line of it', () => {
    const router = new Router();
    router.rpc({ name: 'save', params: { name: Type.String() } }, () => null);
    const near = Type.Object({ lat: Type.Number() });
    router.rpc({ ...read, name: 'nested', params: { near } }, () => null);
    router.rpc({ ...read, name: 'hidden', params: { a: Type.Number() }, httpApi: false }, () => 1);
    router.rpc({ ...read, name: 'ticks', params: { n: Type.Integer() } }, function* ticks() {
      yield 1;
    });
    const tags = Type.Array(Type.String(), { examples: [['a b', 'c&d']] });
    router.rpc({ ...read, params: { tags, exact: Type.Boolean() } }, () => null);
    const link = 'http://127.0.0.1:1/api/find?tags=a+b&tags=c%26d&exact=true';
    assert.deepEqual(tries(router), {
      curl: `  curl '${link}'`,
      links: [`As plain HTTP: ${link}`],
    });
    const { curl } = tries(router, { url: 'http://[::]:1/rpc' });
    assert.equal(curl, `  curl -g '${link.replace('127.0.0.1', '[::1]')}'`);
  });

  it('shows the OpenAPI document and a POST if nothing is read by GET', () => {
    const router = new Router();
    router.rpc({ name: 'save', params: { name: Type.Literal('x') } }, () => null);
    const post = `curl http://127.0.0.1:1/api/save -H 'content-type: application/json' -d '{"name":"x"}'`;
    const document = 'As plain HTTP: http://127.0.0.1:1/openapi.json';
    assert.deepEqual(tries(router), { curl: `  ${post}`, links: [document] });
    assert.deepEqual(tries(router, { introspection: false }).links, []);
  });

  it('has a curl line but no link on a Unix socket', () => {
    const router = new Router();
    router.rpc({ ...read, params: {} }, () => 1);
    assert.deepEqual(tries(router, { url: 'http+unix://%2Frun%2Frpc.sock/rpc' }), {
      curl: '  curl --unix-socket /run/rpc.sock http://localhost/api/find',
      links: [],
    });
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
