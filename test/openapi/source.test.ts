/** An OpenAPI document of a service as a source of contracts, and what is said of other documents. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import shop from '../../examples/procedures.ts';
import { compareApis } from '../../src/client/codegen/compare-apis.ts';
import { readDocument } from '../../src/client/codegen/document.ts';
import { generate } from '../../src/client/codegen/generate.ts';
import { isOpenApi, openRpcOfOpenApi } from '../../src/client/codegen/openapi.ts';
import { CodegenError } from '../../src/client/codegen/text.ts';
import { openRpcOf } from '../../src/core/procedures/document/openrpc.ts';
import { tableOf } from '../../src/core/procedures/router.ts';
import { openApiOf } from '../../src/extras/openapi/document.ts';
import { Operations } from '../../src/extras/openapi/operation.ts';
import { Router, Type } from '../../src/index.ts';
import everyKind from '../fixtures/codegen/every-kind.ts';
import hard from '../fixtures/openapi/hard-shapes.ts';
import { openRpcFaults } from '../router/document/validator.ts';

const sent = (document: object): object => JSON.parse(JSON.stringify(document)) as object;

function openApi(router: Router): object {
  const facts = { httpPath: '/v1/api', httpName: 'x', httpAuth: 'bearer', publicUrl: '' };
  const operations = new Operations(tableOf(router), [], true);
  return sent(openApiOf(operations, { ...facts, asksWho: true }));
}

const fromOpenApi = (router: Router): object => sent(openRpcOfOpenApi(openApi(router) as never));
const fromModule = (router: Router): object => sent(openRpcOf(tableOf(router)));

/** What callers of the old contract would find broken in the new one, without what can't be told. */
function broken(before: object, after: object): string[] {
  const { findings } = compareApis(readDocument(before), readDocument(after));
  return findings
    .filter(({ kind }) => kind === 'breaking')
    .map(({ method, path, reason }) => `${method}: ${path}: ${reason}`);
}

describe('the OpenAPI document of a service as a source', () => {
  test('is an OpenRPC document afterwards', () => {
    for (const router of [hard, everyKind, shop]) {
      assert.deepEqual(openRpcFaults(fromOpenApi(router)), []);
    }
  });

  test('gives the contract that the module gives', () => {
    assert.equal(generate(fromOpenApi(shop)).text, generate(fromModule(shop)).text);
  });

  test('has all that a contract tells: errors with names and data, bytes, streams, effects', () => {
    const router = new Router();
    router.rpc(
      {
        name: 'bank.withdraw',
        doc: 'Takes money out.',
        effects: { idempotent: true },
        params: {
          amount: Type.Number({ description: 'How much.' }),
          note: Type.Optional(Type.String()),
        },
        returns: Type.Void(),
        errors: {
          Broke: {
            code: 4002,
            message: 'Not enough',
            data: Type.Object({ left: Type.Number() }),
            status: 409,
          },
          Closed: { code: 410, message: 'Closed' },
        },
      },
      () => {},
    );
    const bytes = Type.Base64({ maxBytes: 100 });
    router.rpc(
      { name: 'put', params: { id: Type.Integer(), data: bytes }, returns: bytes },
      ({ data }) => data,
    );
    router.rpc(
      { name: 'eth_subscribe', yields: Type.Integer(), returns: Type.String() },
      function* () {
        yield 1;
        return 'end';
      },
    );
    router.rpc(
      { name: 'all', yields: bytes, stream: { collect: true }, params: {} },
      function* () {},
    );
    assert.equal(generate(fromOpenApi(router)).text, generate(fromModule(router)).text);
    assert.deepEqual(broken(fromOpenApi(router), fromModule(router)), []);
  });

  test('breaks nobody who has it, but for the shapes that it tells wider than they are', () => {
    assert.deepEqual(broken(fromOpenApi(shop), fromModule(shop)), []);
    assert.deepEqual(broken(fromOpenApi(everyKind), fromModule(everyKind)), [
      'open: params.*: it no longer takes any value',
    ]);
    assert.deepEqual(broken(fromOpenApi(hard), fromModule(hard)), [
      'shapes.halves: params.value: only certain values are taken now',
      'shapes.listOfItself: params.value[]: it no longer takes any value',
      'shapes.trueOrNull: params.value: false is no longer taken',
      'shapes.typedRest: params.value.*: it no longer takes any value',
      'shapes.withReferenceMember: params.value.$ref: it is required now',
    ]);
  });

  test('shows a change that breaks its callers', () => {
    const router = (schema: ReturnType<typeof Type.String> | ReturnType<typeof Type.Number>) => {
      const one = new Router();
      one.rpc({ name: 'p', effects: { readOnly: true }, params: { a: schema } }, () => 1);
      return one;
    };
    const before = fromOpenApi(router(Type.String()));
    const findings = broken(before, fromModule(router(Type.Number())));
    assert.match(findings.join('\n'), /^p: params\.a: it no longer takes a string$/m);
  });
});

describe('the document of another program', () => {
  const operation = { summary: 'a.b', responses: {} };
  const of = (paths: unknown, openapi: unknown = '3.1.0'): object => ({ openapi, paths });

  test('is known by its version', () => {
    assert.ok(isOpenApi(of({})));
    assert.ok(isOpenApi({ swagger: '2.0' }));
    for (const other of [null, [], { openrpc: '1.4.1', methods: [] }, of({}, 3), { openapi: {} }]) {
      assert.ok(!isOpenApi(other), JSON.stringify(other));
    }
  });

  test('is refused in one line that says why', () => {
    for (const [document, reason] of [
      [{ swagger: '2.0' }, /its version is "2\.0"/],
      [of({}, '3.0.3'), /its version is "3\.0\.3"/],
      [
        of({ '/pets': { get: { summary: 'List all pets' } } }),
        /paths\["\/pets"\] has not one operation/,
      ],
      [of({ '/a.b': { get: operation, post: operation } }), /has not one operation/],
      [of({ '/a.b': {} }), /has not one operation/],
      [of({ '/a.b': null }), /has not one operation/],
      [of({ '/a.b': { get: { summary: 3 } } }), /has not one operation/],
      [of({ '/x': { get: operation } }), /has not one operation/],
      [
        of({ '/a.b': { get: { ...operation, parameters: [{ name: 'x', in: 'path' }] } } }),
        /parameters\[0\] is not of a query/,
      ],
      [
        of({ '/a.b': { get: { ...operation, parameters: [null] } } }),
        /parameters\[0\] is not of a query/,
      ],
    ] as const) {
      assert.throws(
        () => openRpcOfOpenApi(document as never),
        (error) =>
          error instanceof CodegenError &&
          error.message.startsWith('this is no OpenAPI document of a Tandem service') &&
          reason.test(error.message) &&
          !error.message.includes('\n'),
        JSON.stringify(document),
      );
    }
  });

  test('may be of any shape below: nothing is taken for what it is not', () => {
    for (const more of [
      { requestBody: [], responses: 3 },
      { requestBody: { content: { 'application/json': { schema: true } } } },
      { requestBody: { 'x-param': 'a' } },
      { responses: { 200: { content: { 'text/event-stream': { 'x-stream': true } } } } },
      {
        responses: {
          400: null,
          404: {
            content: {
              'application/problem+json': {
                schema: { anyOf: [1, { properties: { code: { const: 'x' } } }] },
              },
            },
          },
        },
      },
      { tags: 'x', description: 3, 'x-effects': [] },
    ]) {
      const read = sent(
        openRpcOfOpenApi(of({ '/a.b': { post: { ...operation, ...more } } }) as never),
      );
      assert.equal(readDocument(read).methods[0]?.name, 'a.b');
      generate(read);
    }
  });
});
