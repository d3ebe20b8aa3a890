import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Type } from '@sinclair/typebox';
import { z } from 'zod';
import {
  type ErrorDeclaration,
  getProcedureSchema,
  handleRequest,
  procedure,
  Router,
} from '../../src/index.ts';

const declare = (errors: unknown) =>
  procedure({ name: 'p', errors: errors as Record<string, ErrorDeclaration> }, () => 1);

async function errorOf(router: Router, method: string): Promise<unknown> {
  const reply = await handleRequest({ jsonrpc: '2.0', id: 1, method }, router);
  return (reply as { error: unknown }).error;
}

describe('declared errors', () => {
  const Id = Type.Object({ id: Type.String() });

  it('are none where none are declared', async () => {
    const router = new Router();
    const seen: object[] = [];
    router.rpc({ name: 'p' }, (_params, { errors }) => void seen.push(errors));
    router.rpc({ name: 'q', errors: {} }, (_params, { errors }) => void seen.push(errors));
    for (const method of ['p', 'q']) await handleRequest({ id: 1, method }, router);
    assert.deepEqual(seen, [{}, {}]);
    assert.ok(!('errors' in getProcedureSchema(router.get('q')!)));
    assert.equal(router.get('q')?.errors, undefined);
  });

  it('stand in the introspection document as plain JSON', () => {
    const errors = {
      NotFound: { code: 404, message: 'No such user', data: Id },
      Closed: { code: 1, message: 'Closed' },
    };
    const schema = getProcedureSchema(procedure({ errors }, () => 1));
    const expected = {
      NotFound: {
        code: 404,
        message: 'No such user',
        data: { type: 'object', required: ['id'], properties: { id: { type: 'string' } } },
      },
      Closed: { code: 1, message: 'Closed' },
    };
    assert.deepEqual(schema.errors, expected);
    const { data } = schema.errors?.NotFound ?? {};
    assert.deepEqual(Object.getOwnPropertySymbols(data), []);
  });

  it('take data of a schema of another library', async () => {
    const errors = { NotFound: { code: 404, message: 'No user', data: z.object({ id: z.int() }) } };
    const router = Router.from({
      get: procedure({ errors }, (_params, context) => {
        throw context.errors.NotFound({ id: 3 });
      }),
    });
    assert.deepEqual(await errorOf(router, 'get'), {
      code: 404,
      message: 'No user',
      data: { id: 3 },
    });
    const { data } = getProcedureSchema(router.get('get')!).errors?.NotFound ?? {};
    assert.deepEqual((data as { required?: unknown }).required, ['id']);
  });

  it('are not changed by what happens to the declaration later', async () => {
    const errors = { A: { code: 1, message: 'x' } };
    const proc = procedure({ errors }, (_params, context) => {
      throw context.errors.A();
    });
    errors.A.code = 2;
    const router = new Router();
    router.register('p', proc);
    assert.deepEqual(await errorOf(router, 'p'), { code: 1, message: 'x' });
    assert.equal(getProcedureSchema(proc).errors?.A?.code, 1);
  });

  describe('are refused at registration', () => {
    const wrong: Record<string, [unknown, RegExp]> = {
      'as a list': [[], /option errors must be an object of errors.*got an array/],
      'as text': ['x', /option errors must be/],
      'without an object': [
        { A: 404 },
        /errors\.A must be an object: \{ code, message, data\?, status\? \}/,
      ],
      'without a code': [
        { A: { message: 'x' } },
        /errors\.A\.code must be an integer .*, got undefined/,
      ],
      'with a fraction': [
        { A: { code: 1.5, message: 'x' } },
        /code must be an integer .*, got 1\.5/,
      ],
      'with a code as text': [{ A: { code: '1', message: 'x' } }, /code must be an integer/],
      'with a code of JSON-RPC': [
        { A: { code: -32000, message: 'x' } },
        /outside -32768 to -32000, .* got -32000/,
      ],
      'with the other end of those': [
        { A: { code: -32768, message: 'x' } },
        /outside -32768 to -32000, .* got -32768/,
      ],
      'without a message': [{ A: { code: 1 } }, /message must be a string, not empty/],
      'with an empty one': [{ A: { code: 1, message: '' } }, /message must be a string, not empty/],
      'with a code twice': [
        { A: { code: 1, message: 'x' }, B: { code: 1, message: 'y' } },
        /errors\.B: the code 1 is that of A already/,
      ],
      'with data of plain JSON': [
        { A: { code: 1, message: 'x', data: { type: 'string' } } },
        /errors\.A\.data: not a TypeBox schema/,
      ],
      'with data JSON lacks in another library': [
        { A: { code: 1, message: 'x', data: z.object({ at: z.date() }) } },
        /errors\.A\.data.*JSON Schema/,
      ],
      'with data JSON lacks': [
        { A: { code: 1, message: 'x', data: Type.Object({ at: Type.Date() }) } },
        /errors\.A\.data at \/at: JSON has no Date/,
      ],
      'with a member too many': [
        { A: { code: 1, message: 'x', schema: 1 } },
        /unknown option "errors\.A\.schema"\. Known: code, message, data/,
      ],
      'with a name of two words': [
        { 'not found': { code: 1, message: 'x' } },
        /letters, digits and _/,
      ],
      'with no name': [{ '': { code: 1, message: 'x' } }, /letters, digits and _/],
      'with a dangerous name': [
        JSON.parse('{ "__proto__": { "code": 1, "message": "x" } }'),
        /letters, digits and _/,
      ],
    };
    for (const [name, [errors, message]] of Object.entries(wrong)) {
      it(name, () => {
        assert.throws(() => declare(errors), { name: 'RegistrationError', message });
        assert.throws(() => declare(errors), /^RegistrationError: procedure "p": /);
      });
    }

    it('but take the codes on both sides of those of JSON-RPC, and names of every object', () => {
      declare({ A: { code: -32769, message: 'x' }, B: { code: -31999, message: 'x' } });
      const { make } = declare({ toString: { code: 1, message: 'x' } }).errors ?? assert.fail();
      assert.equal(Object.entries(make)[0]?.[1]().code, 1);
    });
  });

  it('keep their makers from being changed', () => {
    const { make } = declare({ A: { code: 1, message: 'x' } }).errors ?? assert.fail();
    assert.throws(() => {
      (make as Record<string, unknown>).A = 1;
    }, TypeError);
  });
});
