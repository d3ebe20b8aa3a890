import fc from 'fast-check';
import { given, type Member, type ObjectRecipe, type Recipe } from './recipe.ts';

/** Names that need care somewhere: pointers, prototypes, properties of arrays and of promises. */
const names = ['a', 'b', 'id', 'length', 'then', 'é', '~', 'a/b', '', '0', 'params', 'prototype'];

const small = fc.integer({ min: 0, max: 4 });
const optional = <Value>(arbitrary: fc.Arbitrary<Value>) =>
  fc.option(arbitrary, { nil: undefined });
const literal = fc.constantFrom('gold', 'silver', '', 0, 1, -1.5, true, false);

const scalar: fc.Arbitrary<Recipe> = fc
  .oneof(
    fc.record({
      kind: fc.constant('string' as const),
      min: optional(small),
      max: optional(fc.integer({ min: 4, max: 30 })),
      pattern: optional(fc.constantFrom('^[a-z]+$', '^[A-Z]{2}-[0-9]{3}$')),
    }),
    fc.record({
      kind: fc.constant('number' as const),
      min: optional(fc.constantFrom(-1, 0, 0.5)),
      below: optional(fc.constantFrom(1, 10)),
    }),
    fc.record({
      kind: fc.constant('integer' as const),
      min: optional(fc.constantFrom(-3, 0, 1)),
      max: optional(fc.constantFrom(2, 100)),
      step: optional(fc.constantFrom(1, 2, 5)),
    }),
    fc.record({ kind: fc.constantFrom('boolean', 'null', 'unknown', 'never') }),
    fc.record({ kind: fc.constant('literal' as const), value: literal }),
  )
  .map(clean);

/** Without the members that are undefined: a recipe crosses to a worker as JSON. */
function clean<Value extends object>(value: Value): Recipe {
  return given(value as Record<string, unknown>) as unknown as Recipe;
}

/** Defaults stand where one reading only says what is filled in: not inside of unions and intersections. */
function fallbackOf(of: Recipe): Member['fallback'] {
  if (of.kind === 'literal') return of.value;
  return of.kind === 'boolean' ? true : undefined;
}

function membersOf(of: fc.Arbitrary<Recipe>, canDefault: boolean): fc.Arbitrary<Member[]> {
  const member = fc
    .record({
      name: fc.constantFrom(...names),
      of,
      presence: fc.constantFrom('required' as const, 'optional' as const),
      isFilled: fc.boolean(),
    })
    .map(({ name, of, presence, isFilled }): Member => {
      const fallback = fallbackOf(of);
      return canDefault && isFilled && fallback !== undefined
        ? { name, of, presence, fallback }
        : { name, of, presence };
    });
  return fc.uniqueArray(member, { maxLength: 4, selector: ({ name }) => name });
}

function objectOf(of: fc.Arbitrary<Recipe>, canDefault: boolean): fc.Arbitrary<ObjectRecipe> {
  return fc
    .record({
      kind: fc.constant('object' as const),
      members: membersOf(of, canDefault),
      others: optional(fc.boolean()),
    })
    .map((recipe) => clean(recipe) as ObjectRecipe);
}

function nestedIn(of: fc.Arbitrary<Recipe>, canDefault: boolean): fc.Arbitrary<Recipe> {
  return fc.oneof(
    { weight: 3, arbitrary: objectOf(of, canDefault) },
    fc
      .record({
        kind: fc.constant('array' as const),
        of,
        min: optional(fc.integer({ min: 0, max: 2 })),
        max: optional(fc.integer({ min: 2, max: 4 })),
        unique: optional(fc.constant(true)),
      })
      .map(clean),
    fc.record({ kind: fc.constant('tuple' as const), of: fc.array(of, { maxLength: 3 }) }),
    fc.record({ kind: fc.constant('record' as const), of }),
  );
}

const plain: fc.Arbitrary<Recipe> = fc.letrec<{ recipe: Recipe }>((tie) => ({
  recipe: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    nestedIn(tie('recipe'), false),
  ),
})).recipe;

const choice: fc.Arbitrary<Recipe> = fc.record({
  kind: fc.constantFrom('union' as const, 'intersection' as const),
  of: fc.array(plain, { minLength: 1, maxLength: 3 }),
});

/** Any schema of JSON values, defaults included. */
const recipe: fc.Arbitrary<Recipe> = fc.letrec<{ recipe: Recipe }>((tie) => ({
  recipe: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    choice,
    nestedIn(tie('recipe'), true),
  ),
})).recipe;

/** Of a procedure's params. */
export const paramsRecipe: fc.Arbitrary<ObjectRecipe> = objectOf(recipe, true);
