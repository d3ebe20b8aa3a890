import fc from 'fast-check';
import { type Dispatcher, handleRequest } from '../../../src/index.ts';
import { routerOf } from '../../fixtures/hostile/schemas.ts';
import { assertReply, judgeOf } from './judge.ts';
import type { ObjectRecipe } from './recipe.ts';
import { paramsRecipe } from './recipes.ts';
import { assertProperty, type Fuzzer, type FuzzParameters } from './run.ts';
import { SchemaModules } from './schema-modules.ts';
import { textOf } from './value.ts';

/** A schema, and params for it: most of them right or nearly. */
interface SchemaCase {
  readonly recipe: ObjectRecipe;
  readonly params: readonly string[];
}

function caseOf(most: number): fc.Arbitrary<SchemaCase> {
  return paramsRecipe.chain((recipe) =>
    fc.record({
      recipe: fc.constant(recipe),
      // By name: what is no object is another matter.
      params: fc.array(
        textOf(recipe).filter((text) => text.startsWith('{')),
        { minLength: 1, maxLength: most },
      ),
    }),
  );
}

function describe({ recipe }: SchemaCase, params: string, error: unknown): Error {
  const message = `${String(error)}\nparams ${params} for ${JSON.stringify(recipe)}`;
  return new Error(message, { cause: error });
}

async function checkInline(one: SchemaCase): Promise<void> {
  const router = routerOf([one.recipe]);
  const judge = judgeOf(one.recipe);
  for (const params of one.params) {
    try {
      const payload = { id: 1, method: 'in.p0', params: JSON.parse(params) as unknown };
      assertReply(judge, params, JSON.stringify(await handleRequest(payload, router)));
    } catch (error) {
      throw describe(one, params, error);
    }
  }
}

async function checkBoth(dispatcher: Dispatcher, index: number, one: SchemaCase): Promise<void> {
  const judge = judgeOf(one.recipe);
  for (const params of one.params) {
    for (const place of ['in', 'out']) {
      const body = `{"id":1,"method":"${place}.p${index}","params":${params}}`;
      try {
        assertReply(judge, params, await dispatcher.dispatchText(body));
      } catch (error) {
        throw describe(one, params, `${place}: ${String(error)}`);
      }
    }
  }
}

/** Random schemas inline: many of them, quickly shrunk. */
export class SchemaFuzzer implements Fuzzer {
  static async start(): Promise<SchemaFuzzer> {
    return new SchemaFuzzer();
  }

  async run(parameters: FuzzParameters): Promise<void> {
    await assertProperty(fc.asyncProperty(caseOf(10), checkInline), parameters);
  }

  async close(): Promise<void> {}
}

/** Schemas of one module, since each module costs a worker. */
const perModule = 30;

/** The same through a dispatcher, inline and in a worker that builds the schemas itself. */
export class PooledSchemaFuzzer implements Fuzzer {
  readonly #modules: SchemaModules;

  private constructor(modules: SchemaModules) {
    this.#modules = modules;
  }

  static async start(): Promise<PooledSchemaFuzzer> {
    return new PooledSchemaFuzzer(new SchemaModules());
  }

  async run(parameters: FuzzParameters): Promise<void> {
    const cases = fc.array(caseOf(5), { minLength: perModule, maxLength: perModule });
    const property = fc.asyncProperty(cases, async (all) => {
      const dispatcher = await this.#modules.serve(all.map(({ recipe }) => recipe));
      try {
        for (const [index, one] of all.entries()) await checkBoth(dispatcher, index, one);
      } finally {
        await dispatcher.close();
      }
    });
    await assertProperty(property, parameters);
  }

  async close(): Promise<void> {
    this.#modules.remove();
  }
}
