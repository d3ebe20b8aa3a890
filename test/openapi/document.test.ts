/** The OpenAPI document: one operation for each procedure, and what it says of params, results and errors. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  describedProcedure,
  describeProcedure,
} from '../../src/core/procedures/document/introspect.ts';
import { tableOf } from '../../src/core/procedures/router.ts';
import type { Procedure } from '../../src/core/procedures/types.ts';
import {
  type DocumentFacts,
  type OpenApiDocument,
  openApiBytes,
} from '../../src/extras/openapi/document.ts';
import { Operations } from '../../src/extras/openapi/operation.ts';
import { Router, Type } from '../../src/index.ts';
import hard from '../fixtures/openapi/hard-shapes.ts';
import { facts, documentOf as hardDocumentOf } from './hard-document.ts';

function bytesOf(table: ReadonlyMap<string, Procedure>, given: Partial<DocumentFacts> = {}) {
  const all = { ...facts, ...given };
  return openApiBytes(new Operations(table, [], all.hasAuth), all);
}

const documentOf = (router: Router, given: Partial<DocumentFacts> = {}): OpenApiDocument =>
  hardDocumentOf(tableOf(router), given);

const document = documentOf(hard);

function operationOf(name: string, method: 'get' | 'post', from = document) {
  const path = from.paths[`/api/${name}`] ?? assert.fail(name);
  assert.deepEqual(Object.keys(path), [method]);
  return path[method] ?? assert.fail(name);
}

describe('the head of the document', () => {
  test('has the name of the service, and its server where that is known', () => {
    const { openapi, info, servers, security, components } = document;
    assert.equal(openapi, '3.1.1');
    assert.equal(info.title, 'hard');
    assert.match(info.version, /^[\da-f]{12}$/);
    assert.equal(servers, undefined);
    assert.deepEqual(security, []);
    assert.equal(components.securitySchemes, undefined);
    const publicUrl = 'https://example.org/v1';
    assert.deepEqual(documentOf(hard, { publicUrl }).servers, [{ url: publicUrl }]);
  });

  test('has the security scheme that authenticate looks at', () => {
    for (const [httpAuth, scheme] of [
      ['bearer', { type: 'http', scheme: 'bearer' }],
      ['basic', { type: 'http', scheme: 'basic' }],
      ['header:X-Api-Key', { type: 'apiKey', in: 'header', name: 'X-Api-Key' }],
      ['cookie:sid', { type: 'apiKey', in: 'cookie', name: 'sid' }],
    ] as const) {
      const { security, components } = documentOf(hard, { httpAuth, hasAuth: true });
      assert.deepEqual(security, [{ auth: [] }]);
      assert.deepEqual(components.securitySchemes, { auth: scheme });
    }
  });

  test('has another version when what it says has changed, and the same bytes otherwise', async () => {
    const table = tableOf(hard);
    const first = await bytesOf(table);
    assert.match(first.version, /^[\w-]{22}$/);
    assert.deepEqual(JSON.parse(Buffer.from(first.bytes).toString()), document);
    assert.deepEqual(await bytesOf(table), first);
    assert.notEqual((await bytesOf(table, { title: 'other' })).version, first.version);
    const versionWith = (status: number | undefined) => {
      const router = new Router();
      router.rpc({ name: 'p', errors: { A: { code: 1, message: 'a', status } } }, () => 1);
      return documentOf(router).info.version;
    };
    assert.notEqual(versionWith(undefined), versionWith(409));
  });

  test('names types alike, in whatever order procedures are registered', () => {
    const kind = (size: object) =>
      Type.Union([
        Type.Object({ kind: Type.Literal('circle'), ...size }),
        Type.Object({ kind: Type.Literal('none') }),
      ]);
    const given = { a: kind({ radius: Type.Number() }), b: kind({ width: Type.Number() }) };
    const [one, other] = [['a', 'b'] as const, ['b', 'a'] as const].map((names) => {
      const router = new Router();
      for (const name of names) router.rpc({ name, returns: given[name] }, () => null as never);
      return documentOf(router);
    });
    assert.deepEqual(Object.keys(one?.paths ?? {}), ['/api/a', '/api/b']);
    assert.deepEqual(Object.keys(other?.paths ?? {}), ['/api/b', '/api/a']);
    assert.deepEqual(Object.keys(one?.components.schemas ?? {}), [
      'AResult',
      'Circle',
      'Circle2',
      'Problem',
    ]);
    // What both have is a component of OpenRPC already.
    assert.deepEqual(other?.components, one?.components);
  });

  test('is the same at a gateway, which knows the procedures from what members say', async () => {
    const table = tableOf(hard);
    const described = Array.from(table.values(), (procedure) => {
      const sent = JSON.stringify(describeProcedure(procedure));
      return describedProcedure(JSON.parse(sent) as ReturnType<typeof describeProcedure>);
    });
    const there = new Map(described.map((procedure) => [procedure.name, procedure]));
    assert.deepEqual(await bytesOf(there), await bytesOf(table));
  });
});

describe('the operation of a procedure', () => {
  test('stands at its own name, each once', () => {
    assert.deepEqual(
      Object.keys(document.paths),
      hard.list().map((name) => `/api/${name}`),
    );
    const ids = Object.values(document.paths).map(({ get, post }) => (get ?? post)?.operationId);
    assert.ok(ids.every((id) => /^\w{1,64}$/.test(id ?? '')));
    const folded = ids.map((id) => id?.replace(/[^A-Za-z0-9]/g, '').toLowerCase());
    assert.equal(new Set(folded).size, ids.length);
  });

  test('keeps its name while no other one comes near', () => {
    assert.equal(operationOf('query.flat', 'get').operationId, 'query_flat');
    const marked = operationOf('thing:a/b', 'post').operationId;
    assert.match(marked, /^thing_a_b_[\da-f]{8}$/);
    const router = new Router();
    for (const name of ['thing:a/b', 'thing.ab', 'thing.A.B']) router.rpc({ name }, () => null);
    assert.equal(operationOf('thing:a/b', 'post', documentOf(router)).operationId, marked);
    const names = new Router();
    for (const name of ['a_b', 'a.b']) names.rpc({ name }, () => null);
    assert.equal(operationOf('a_b', 'post', documentOf(names)).operationId, 'a_b');
  });

  test('has its namespace, its text and its effects', () => {
    const { summary, description, tags, 'x-effects': effects } = operationOf('query.flat', 'get');
    assert.equal(summary, 'query.flat');
    assert.equal(description, 'Params of each kind that a query shows.');
    assert.deepEqual(tags, ['query']);
    assert.deepEqual(effects, { readOnly: true });
    assert.deepEqual(operationOf('save', 'post').tags, ['default']);
    const used = new Set(
      Object.values(document.paths).flatMap(({ get, post }) => (get ?? post)?.tags ?? []),
    );
    assert.deepEqual(
      document.tags.map(({ name }) => name),
      [...used].sort(),
    );
  });
});

describe('params', () => {
  test('that are flat stand in the query of a GET, without a style', () => {
    const { parameters, requestBody } = operationOf('query.flat', 'get');
    assert.equal(requestBody, undefined);
    assert.deepEqual(parameters, [
      {
        name: 'text',
        in: 'query',
        description: 'What to look for.',
        required: true,
        schema: { type: 'string', description: 'What to look for.' },
      },
      {
        name: 'size',
        in: 'query',
        required: false,
        schema: { type: 'integer', default: 10, minimum: 1 },
      },
      {
        name: 'sort',
        in: 'query',
        required: false,
        schema: { type: 'string', enum: ['up', 'down'] },
      },
      {
        name: 'maybe',
        in: 'query',
        required: false,
        schema: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
      },
      {
        name: 'tags',
        in: 'query',
        required: false,
        schema: { type: 'array', items: { type: 'string' } },
      },
    ]);
  });

  test('are flat if each is one value, or a list of such', () => {
    const text = Type.String();
    const methods = {
      get: [
        Type.Boolean({ default: true }),
        Type.Union([Type.Literal('a'), Type.Literal(2), Type.Null()]),
        Type.Array(Type.Union([text, Type.Null()])),
        Type.Tuple([Type.Number(), text]),
      ],
      post: [
        Type.Array(Type.Array(text)),
        Type.Union([Type.Array(text), Type.Null()]),
        Type.Array(Type.Object({})),
        Type.Record(text, Type.Number()),
        Type.Unknown(),
        Type.Recursive((This) => Type.Union([text, Type.Array(This)])),
      ],
    };
    for (const method of ['get', 'post'] as const) {
      for (const x of methods[method]) {
        const router = new Router();
        router.rpc({ name: 'p', params: { x }, effects: { readOnly: true } }, () => 1);
        operationOf('p', method, documentOf(router));
      }
    }
  });

  test('that are not stand in the body of a POST, which may be left out where all of them may', () => {
    const { parameters, requestBody } = operationOf('query.nested', 'post');
    assert.equal(parameters, undefined);
    const near = { type: 'object', properties: { lat: { type: 'number' } }, required: ['lat'] };
    assert.deepEqual(requestBody, {
      required: false,
      content: {
        'application/json': {
          schema: { type: 'object', properties: { near }, additionalProperties: false },
        },
      },
    });
    const saved = operationOf('save', 'post').requestBody;
    assert.deepEqual(saved, {
      required: true,
      content: {
        'application/json': {
          schema: {
            type: 'object',
            properties: { name: { type: 'string' } },
            required: ['name'],
            additionalProperties: false,
          },
        },
      },
    });
    const router = new Router();
    router.rpc({ name: 'none', params: {} }, () => 1);
    assert.equal(operationOf('none', 'post', documentOf(router)).requestBody, undefined);
    const zod = operationOf('zod.all', 'post').requestBody?.content['application/json'];
    assert.ok(
      zod && !('additionalProperties' in zod.schema),
      'zod takes others, and leaves them out',
    );
    const open = operationOf('open', 'post').requestBody?.content['application/json'];
    assert.deepEqual(open?.schema, { type: 'object', additionalProperties: true });
  });

  test('that are bytes are the body, of one type', () => {
    const { parameters, requestBody } = operationOf('bytes.put', 'post');
    assert.deepEqual(parameters, [
      { name: 'id', in: 'query', required: true, schema: { type: 'integer' } },
    ]);
    assert.deepEqual(requestBody, {
      required: true,
      content: {
        'application/octet-stream': {
          schema: { type: 'string', format: 'binary', maxLength: 1000 },
        },
      },
      'x-param': 'data',
    });
    const both = operationOf('bytes.both', 'post').requestBody?.content;
    assert.deepEqual(Object.keys(both ?? {}), ['application/json']);
  });
});

/** Status, content type and schema of each answer that is documented. */
function answersOf(name: string, method: 'get' | 'post') {
  return Object.entries(operationOf(name, method).responses).map(([status, response]) => [
    status,
    'content' in response ? response.content : response,
  ]);
}

const byDefault = ['default', { $ref: '#/components/responses/Problem' }];

describe('answers', () => {
  test('are the result, nothing, or bytes of two types', () => {
    const array = { type: 'array', items: { type: 'string' } };
    assert.deepEqual(answersOf('query.flat', 'get'), [
      ['200', { 'application/json': { schema: array } }],
      byDefault,
    ]);
    assert.deepEqual(operationOf('save', 'post').responses['204'], { description: 'Done' });
    const binary = { schema: { type: 'string', format: 'binary' } };
    assert.deepEqual(answersOf('bytes.png', 'get'), [
      ['200', { 'image/png': binary, 'application/octet-stream': binary }],
      byDefault,
    ]);
    assert.deepEqual(answersOf('bytes.both', 'post'), [
      ['200', { 'application/octet-stream': binary }],
      byDefault,
    ]);
  });

  test('of streams have the schema of one value, or are the array of all values', () => {
    assert.deepEqual(answersOf('stream.ticks', 'get'), [
      [
        '200',
        {
          'text/event-stream': {
            schema: { $ref: '#/components/schemas/Cat' },
            'x-stream': true,
            'x-result': { type: 'string' },
          },
        },
      ],
      byDefault,
    ]);
    assert.deepEqual(answersOf('stream.collected', 'post'), [
      [
        '200',
        {
          'application/json': {
            schema: { type: 'array', items: { type: 'integer' } },
            'x-stream': true,
          },
        },
      ],
      byDefault,
    ]);
  });

  test('of declared errors are told apart by their names and codes', () => {
    const error = (code: number, name: string, description: string, data?: object) => ({
      type: 'object',
      description,
      properties: {
        type: { type: 'string' },
        title: { type: 'string' },
        status: { type: 'integer' },
        code: { type: 'integer', enum: [code] },
        name: { type: 'string', enum: [name] },
        detail: { type: 'string' },
        ...(data && { data }),
      },
      required: ['type', 'title', 'status', 'code', 'name', ...(data ? ['data'] : [])],
    });
    const by = { type: 'object', properties: { by: { type: 'string' } }, required: ['by'] };
    const problem = 'application/problem+json';
    const $ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
    const mapping = { Taken: $ref('Taken').$ref, Locked: $ref('Locked').$ref };
    assert.deepEqual(answersOf('save', 'post').slice(1), [
      // The service itself answers with this status, too.
      ['400', { [problem]: { schema: $ref('Problem') } }],
      [
        '409',
        {
          [problem]: {
            schema: {
              oneOf: [$ref('Taken'), $ref('Locked')],
              discriminator: { propertyName: 'name', mapping },
            },
          },
        },
      ],
      ['410', { [problem]: { schema: error(410, 'Gone', 'It is gone') } }],
      byDefault,
    ]);
    const { schemas, responses } = document.components;
    assert.deepEqual(schemas.Taken, error(4009, 'Taken', 'The name is taken', by));
    assert.deepEqual(schemas.Locked, error(4010, 'Locked', 'Nothing can be saved now'));
    assert.deepEqual(Object.keys(responses), ['Problem']);
    assert.deepEqual(schemas.Problem?.required, ['type', 'title', 'status', 'code']);
    assert.deepEqual(operationOf('save', 'post')['x-errors'], {
      Taken: { code: 4009, message: 'The name is taken', data: by, status: 409 },
      Locked: { code: 4010, message: 'Nothing can be saved now', status: 409 },
      Gone: { code: 410, message: 'It is gone', status: 410 },
      TooLong: { code: 400, message: 'The name is too long', status: 400 },
    });
  });

  test('of types that several procedures share are one component', () => {
    const router = new Router();
    const Person = Type.Object({ name: Type.String() }, { title: 'a person' });
    for (const name of ['people.one', 'people.other']) {
      router.rpc({ name, returns: Person }, () => ({ name: 'x' }));
    }
    router.rpc(
      { name: 'hidden', returns: Type.Object({ secret: Type.String() }), httpApi: false },
      () => ({ secret: 'x' }),
    );
    router.rpc(
      { name: 'hidden2', returns: Type.Object({ secret: Type.String() }), httpApi: false },
      () => ({ secret: 'x' }),
    );
    const shared = documentOf(router);
    assert.deepEqual(Object.keys(shared.components.schemas), ['APerson', 'Problem']);
    assert.deepEqual(Object.keys(shared.paths), ['/api/people.one', '/api/people.other']);
  });
});
