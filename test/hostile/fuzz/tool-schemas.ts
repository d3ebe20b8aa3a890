import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import type { Ajv as AjvClass } from 'ajv';
import fc from 'fast-check';
import { RegistrationError } from '../../../src/core/base/registration-error.ts';
import { ResultFault } from '../../../src/core/schema/result.ts';
import { createTool, type Era, type Tool, toolText } from '../../../src/extras/mcp/tool.ts';
import { ToolReply } from '../../../src/extras/mcp/tool-result.ts';
import { type Procedure, procedure, RpcError } from '../../../src/index.ts';
import { randomOf } from '../../jsonrpc/bodies.ts';
import { KnotValues } from './knot-values.ts';
import { type Knot, knot, schemaOf } from './knots.ts';
import { buildObject, type ObjectRecipe } from './recipe.ts';
import { paramsRecipe } from './recipes.ts';
import { assertProperty, type Fuzzer, type FuzzParameters } from './run.ts';
import { textOf } from './value.ts';

const require = createRequire(import.meta.url);
const { Ajv } = require('ajv') as { Ajv: typeof AjvClass };
const { Ajv2020 } = require('ajv/dist/2020.js') as { Ajv2020: typeof AjvClass };

interface ToolText {
  readonly inputSchema: object;
  readonly outputSchema: object;
}

/** The validators of the two generations of clients: draft 7, and 2020-12. Schemas must be valid themselves. */
const validators = [
  ['draft 7', Ajv],
  ['2020-12', Ajv2020],
] as const;

type Validate = (value: unknown) => boolean;

function compile(schema: object): readonly (readonly [name: string, validate: Validate])[] {
  return validators.map(([name, Validator]) => {
    const ajv = new Validator({
      strict: false,
      allErrors: true,
      validateFormats: false,
      logger: false,
    });
    return [name, ajv.compile(schema)] as const;
  });
}

/** A procedure that returns what it gets, as clients of both eras see it. */
class Echo {
  readonly #procedure: Procedure;
  readonly #tool: Tool;
  readonly #inputs: ReturnType<typeof compile>;
  readonly #outputs: Readonly<Record<Era, ReturnType<typeof compile>>>;

  constructor(schema: ReturnType<typeof buildObject>) {
    this.#procedure = procedure(
      { name: 'echo', params: schema, returns: schema },
      (given) => given,
    );
    this.#tool = createTool('echo', this.#procedure);
    const text = (era: Era): ToolText => JSON.parse(toolText(this.#tool, era)) as ToolText;
    this.#inputs = compile(text('modern').inputSchema);
    this.#outputs = {
      modern: compile(text('modern').outputSchema),
      legacy: compile(text('legacy').outputSchema),
    };
  }

  /** What is taken is allowed by the schema that was told; what is given back is what was promised. */
  check(params: string): void {
    const result = this.#resultOf(JSON.parse(params));
    if (result === undefined) return;
    for (const [name, validate] of this.#inputs) {
      assert.ok(validate(JSON.parse(params)), `input, ${name}`);
    }
    for (const era of ['modern', 'legacy'] as const) {
      const style = { era, tail: '', maxReplyBytes: Number.POSITIVE_INFINITY };
      const outcome = { ok: true, code: 0, text: JSON.stringify(result) };
      const text = new ToolReply(this.#tool, '1', style).textOf(outcome);
      const { result: told } = JSON.parse(text) as { readonly result: Structured };
      for (const [name, validate] of this.#outputs[era]) {
        assert.ok(validate(told.structuredContent), `output, ${era}, ${name}`);
      }
    }
  }

  /** Undefined: the params are refused, or what is left of them as a result. */
  #resultOf(params: unknown): unknown {
    const { bindParams, result } = this.#procedure;
    try {
      const projected = result?.project(bindParams(params));
      return result?.mismatchOf(projected) === undefined ? projected : undefined;
    } catch (error) {
      if (RpcError.is(error) || error instanceof ResultFault) return undefined;
      throw error;
    }
  }
}

interface Structured {
  readonly structuredContent: unknown;
}

interface SchemaCase {
  readonly recipe: ObjectRecipe;
  readonly params: readonly string[];
}

const schemaCase: fc.Arbitrary<SchemaCase> = paramsRecipe.chain((recipe) =>
  fc.record({
    recipe: fc.constant(recipe),
    params: fc.array(
      textOf(recipe).filter((text) => text.startsWith('{')),
      { minLength: 1, maxLength: 8 },
    ),
  }),
);

function described(schema: unknown, params: string, error: unknown): Error {
  return new Error(`${String(error)}\nparams ${params} for ${JSON.stringify(schema)}`, {
    cause: error,
  });
}

function checkAll(schema: ReturnType<typeof buildObject>, texts: readonly string[]): void {
  let echo: Echo;
  try {
    echo = new Echo(schema);
  } catch (error) {
    // Of a type that holds itself in place, say.
    if (error instanceof RegistrationError) return;
    throw described(schema, '', error);
  }
  for (const params of texts) {
    try {
      echo.check(params);
    } catch (error) {
      throw described(schema, params, error);
    }
  }
}

async function checkKnot(given: Knot, start: number): Promise<void> {
  const texts = Array.from({ length: 8 }, (_, n) =>
    JSON.stringify({
      v: new KnotValues(given, randomOf(start + n)).make(12, 3, n % 3 === 0 ? 0 : 4),
    }),
  );
  checkAll(schemaOf(given) as ReturnType<typeof buildObject>, texts);
}

/** Random schemas as tools: valid in both dialects that clients read, and true of what is taken and given back. */
export class ToolSchemaFuzzer implements Fuzzer {
  async run(parameters: FuzzParameters): Promise<void> {
    const plain = fc.asyncProperty(schemaCase, async ({ recipe, params }) => {
      checkAll(buildObject(recipe), params);
    });
    await assertProperty(plain as fc.IAsyncProperty<unknown[]>, parameters);
    const knotted = fc.asyncProperty(knot, fc.nat(), checkKnot);
    await assertProperty(knotted as fc.IAsyncProperty<unknown[]>, parameters);
  }

  async close(): Promise<void> {}
}
