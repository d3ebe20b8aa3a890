import { type TSchema, Type } from '@sinclair/typebox';

/** A schema as plain data, so that it reaches a worker and can be shrunk. */
export type Recipe =
  | {
      readonly kind: 'string';
      readonly min?: number;
      readonly max?: number;
      readonly pattern?: string;
    }
  | { readonly kind: 'number'; readonly min?: number; readonly below?: number }
  | {
      readonly kind: 'integer';
      readonly min?: number;
      readonly max?: number;
      readonly step?: number;
    }
  | { readonly kind: 'boolean' | 'null' | 'unknown' | 'never' }
  | { readonly kind: 'literal'; readonly value: string | number | boolean }
  | {
      readonly kind: 'array';
      readonly of: Recipe;
      readonly min?: number;
      readonly max?: number;
      readonly unique?: boolean;
    }
  | { readonly kind: 'tuple'; readonly of: readonly Recipe[] }
  | { readonly kind: 'record'; readonly of: Recipe }
  | { readonly kind: 'union' | 'intersection'; readonly of: readonly Recipe[] }
  | ObjectRecipe;

export interface ObjectRecipe {
  readonly kind: 'object';
  readonly members: readonly Member[];
  /** Of members without a name; undefined: as the schema has it by itself. */
  readonly others?: boolean;
}

export interface Member {
  readonly name: string;
  readonly of: Recipe;
  readonly presence: 'required' | 'optional';
  /** In place of a missing one; a value of its recipe. */
  readonly fallback?: string | number | boolean;
}

/** Spreads only what is given: exactOptionalPropertyTypes, and TypeBox takes an undefined bound for one. */
export function given(options: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

function build(recipe: Recipe): TSchema {
  switch (recipe.kind) {
    case 'string':
      return Type.String(
        given({ minLength: recipe.min, maxLength: recipe.max, pattern: recipe.pattern }),
      );
    case 'number':
      return Type.Number(given({ minimum: recipe.min, exclusiveMaximum: recipe.below }));
    case 'integer':
      return Type.Integer(
        given({ minimum: recipe.min, maximum: recipe.max, multipleOf: recipe.step }),
      );
    case 'boolean':
      return Type.Boolean();
    case 'null':
      return Type.Null();
    case 'unknown':
      return Type.Unknown();
    case 'never':
      return Type.Never();
    case 'literal':
      return Type.Literal(recipe.value);
    case 'array':
      return Type.Array(
        build(recipe.of),
        given({ minItems: recipe.min, maxItems: recipe.max, uniqueItems: recipe.unique }),
      );
    case 'tuple':
      return Type.Tuple(recipe.of.map(build));
    case 'record':
      return Type.Record(Type.String(), build(recipe.of));
    case 'union':
      return Type.Union(recipe.of.map(build));
    case 'intersection':
      return Type.Intersect(recipe.of.map(build));
    case 'object':
      return buildObject(recipe);
  }
}

export function buildObject({ members, others }: ObjectRecipe) {
  const entries = members.map(({ name, of, presence, fallback }) => {
    const schema = fallback === undefined ? build(of) : { ...build(of), default: fallback };
    return [name, presence === 'optional' ? Type.Optional(schema) : schema] as const;
  });
  return Type.Object(Object.fromEntries(entries), given({ additionalProperties: others }));
}
