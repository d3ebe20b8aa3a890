/** Generated schemas: what is checked, what documents publish, what types say and what is sent are one set of values. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { describe, test } from 'node:test';
import { type TObject, type TSchema, Type } from '@sinclair/typebox';
import type { Ajv2019 as AjvClass } from 'ajv/dist/2019.js';
import fc from 'fast-check';
import {
  getProcedureSchema,
  type Procedure,
  RegistrationError,
  Router,
} from '../../../src/index.ts';
import { cases, seed } from '../../seed.ts';
import { discover } from '../document/discover.ts';
import { misfits } from './assignable.ts';
import { formats, schemas, Values } from './generated.ts';
import { issuesOf } from './params.ts';

// CommonJS, whose types do not fit an ES module's default import. Documents write tuples with a list of `items`, which the
// draft 2020-12 no longer reads: OpenRPC refers to draft 7.
const { Ajv2019 } = createRequire(import.meta.url)('ajv/dist/2019.js') as {
  Ajv2019: typeof AjvClass;
};

/** The check of a document by another reader. The exceptions: formats assert, and maxBytes is a keyword of this package. */
function readByAjv(schema: object): (value: unknown) => boolean {
  const ajv = new Ajv2019({
    strict: false,
    meta: false,
    validateSchema: false,
    multipleOfPrecision: 9,
    formats: Object.fromEntries(Object.entries(formats).map(([name, { is }]) => [name, is])),
  });
  ajv.addKeyword({
    keyword: 'maxBytes',
    type: 'string',
    validate: (most: number, text: string) => Buffer.from(text, 'base64').length <= most,
  });
  const text = JSON.stringify(schema, (_name, json: unknown) => withItemsApart(json));
  return ajv.compile(JSON.parse(text) as object);
}

/** Ajv skips the keywords after a list of `items` if the array is shorter: the list gets a schema of its own. */
function withItemsApart(json: unknown): unknown {
  if (typeof json !== 'object' || json === null || !('items' in json)) return json;
  const { items, additionalItems, allOf = [], ...others } = json as Record<string, unknown>;
  if (!Array.isArray(items) || Object.keys(others).length === 0) return json;
  return { ...others, allOf: [...(allOf as unknown[]), { items, additionalItems }] };
}

/** A procedure with these params, that returns `returns`; undefined: registration refuses it. */
function registered(params: TObject, returns: TSchema): Router | undefined {
  const router = new Router();
  try {
    router.rpc({ name: 'p', params, returns }, () => null as never);
    return router;
  } catch (error) {
    assert.ok(error instanceof RegistrationError, String(error));
    return undefined;
  }
}

/**
 * What is sent of a result that passes the check; undefined: an error. Only what is not declared can lead to one, since it is
 * left out: two items may then be equal, where uniqueItems forbids it.
 */
function sent({ result }: Procedure, value: unknown, about: string): unknown {
  assert.equal(result?.mismatchOf(value), undefined, `${about}, returned`);
  const projected = result?.project(value);
  if (result?.mismatchOf(projected) === undefined) return JSON.parse(JSON.stringify(projected));
  assert.notDeepEqual(projected, value, `${about}, projected`);
  return undefined;
}

const valuesOfEach = 8;

/** Whether a tuple in it says nothing of its length: its type then has all items, since authors mean that, and its check takes fewer. */
function hasOpenTuple(json: unknown): boolean {
  if (typeof json !== 'object' || json === null) return false;
  const { items, minItems } = json as { readonly items?: unknown; readonly minItems?: number };
  if (Array.isArray(items) && minItems === undefined) return true;
  return Object.values(json).some(hasOpenTuple);
}

async function assertOneMeaning(
  schema: TSchema,
  start: number,
  typed: Map<string, unknown[]>,
): Promise<void> {
  const router = registered(Type.Object({ v: schema }), schema);
  const procedure = router?.get('p');
  if (router === undefined || procedure === undefined) return;
  const { parameters, return_schema: returned } = getProcedureSchema(procedure);
  const [{ schema_: json, type } = assert.fail()] = parameters;
  const { methods, components } = await discover(router);
  const documents = {
    introspection: readByAjv(json),
    'introspection of the result': readByAjv(returned),
    OpenRPC: readByAjv({ ...methods[0]?.params[0]?.schema, components }),
  };
  const values = typed.get(type) ?? [];
  for (let n = 0; n < valuesOfEach; n += 1) {
    const v = new Values(json, start + n).value();
    const issues = issuesOf(procedure, { v });
    const isAccepted: boolean = issues.length === 0;
    const about = `${JSON.stringify(json)} with ${JSON.stringify(v)}`;
    assert.ok(issues.length <= 8 && issues.every(({ path }) => path.startsWith('/v')), about);
    for (const [document, check] of Object.entries(documents))
      assert.equal(check(v), isAccepted, `${about}, by ${document}`);
    if (!isAccepted) {
      assert.notEqual(procedure.result?.mismatchOf(v), undefined, `${about}, returned`);
      continue;
    }
    const value = sent(procedure, v, about);
    if (value === undefined) continue;
    assert.ok(documents['introspection of the result'](value), `${about}, sent`);
    // What an open object takes beside its members is not in its type, and is not sent.
    if (!hasOpenTuple(json)) values.push(value);
  }
  typed.set(type, values);
}

describe('generated schemas of TypeBox', () => {
  test('mean the same in checks, documents, results and types', async () => {
    const typed = new Map<string, unknown[]>();
    await fc.assert(
      fc.asyncProperty(schemas, fc.nat(), (schema, start) =>
        assertOneMeaning(schema, start, typed),
      ),
      { seed, numRuns: cases(10) },
    );
    assert.deepEqual(misfits(typed, ['Item', 'List', 'T0', 'T1', 'T2', 'T3', 'T4', 'T5']), []);
  });
});
