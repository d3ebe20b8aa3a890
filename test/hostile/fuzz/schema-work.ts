import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import type { Ajv as AjvClass } from 'ajv';
import fc from 'fast-check';
import { RegistrationError } from '../../../src/core/base/registration-error.ts';
import { RpcError } from '../../../src/core/protocol/errors.ts';
import { type CompiledParams, compileParams } from '../../../src/core/schema/schema.ts';
import { Counted } from '../../fixtures/counted.ts';
import { randomOf } from '../../jsonrpc/bodies.ts';
import { KnotValues, sizeOf } from './knot-values.ts';
import { type Knot, knot, partsOf, schemaOf } from './knots.ts';
import { assertProperty, type Fuzzer, type FuzzParameters } from './run.ts';

const require = createRequire(import.meta.url);
const { Ajv } = require('ajv') as { Ajv: typeof AjvClass };

/** Looks at one part of a value, for each part of the schema: a check, an explanation, each some times. */
const looksPerPart = 12;

function compiled(given: Knot): CompiledParams | undefined {
  try {
    return compileParams(schemaOf(given), 'p');
  } catch (error) {
    // A type that holds itself in place, or alternatives without number: refused, in time.
    assert.ok(error instanceof RegistrationError, String(error));
    return undefined;
  }
}

/** Whether it is taken; if not, it is told why. */
function takes({ bindParams }: CompiledParams, params: unknown): boolean {
  try {
    bindParams(params);
    return true;
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    assert.ok((error.data as unknown[]).length > 0);
    return false;
  }
}

/** Small values have the verdict of an independent reading of JSON Schema. */
function judge(given: Knot, params: CompiledParams, start: number): void {
  const json = JSON.parse(JSON.stringify(schemaOf(given))) as Record<string, unknown>;
  json.additionalProperties = false;
  const validate = new Ajv({ strict: false, logger: false }).compile(json);
  for (let n = 0; n < 20; n += 1) {
    const v = new KnotValues(given, randomOf(start + n)).make(12, 3, n % 3 === 0 ? 0 : 8);
    const text = JSON.stringify({ v });
    assert.equal(takes(params, { v }), validate({ v }), `the verdict on ${text}`);
  }
}

/** However large a value, as many looks at each part of it. */
function grow(given: Knot, params: CompiledParams, start: number): void {
  const parts = Object.values(given).reduce((sum, part) => sum + partsOf(part), 0);
  for (const [n, size] of [10, 40, 160, 640].entries()) {
    for (const mistakes of [0, 30]) {
      const values = new KnotValues(given, randomOf(start + n));
      const v = values.make(size, 60, mistakes);
      const most = looksPerPart * parts * (sizeOf(v) + 4);
      takes(params, new Counted({ v }, most).value);
    }
  }
}

/** Types that refer to each other at random: right verdicts, at a price in proportion to the value. */
export class SchemaWorkFuzzer implements Fuzzer {
  #accepted = 0;
  #refused = 0;

  async run(parameters: FuzzParameters): Promise<void> {
    const property = fc.asyncProperty(knot, fc.nat(), async (given, start) => {
      const params = compiled(given);
      if (params === undefined) {
        this.#refused += 1;
        return;
      }
      this.#accepted += 1;
      judge(given, params, start);
      grow(given, params, start);
    });
    await assertProperty(property as fc.IAsyncProperty<unknown[]>, parameters);
    // If all were refused nothing would be held.
    assert.ok(this.#accepted > this.#refused, `${this.#refused} of its schemas were refused`);
  }

  async close(): Promise<void> {}
}
