import fc from 'fast-check';
import type { Member, Recipe } from './recipe.ts';

/** JSON text of a value. Text, so that a member called __proto__ is one. */
export type Text = string;

/** What must never be in a refusal: the values of strings, and these numbers. */
const secret = 's3cr3t';
const secretNumber = '73310751.25';
export const secrets: readonly string[] = [secret, secretNumber];

const strings = fc
  .constantFrom(
    '',
    'a',
    'ab',
    'abcd',
    'AB-123',
    'gold',
    `${secret}`,
    `${secret} é😀`,
    '\u0000\n"\\',
    '__proto__',
  )
  .map((text) => JSON.stringify(text));
const numbers = fc.constantFrom(
  '0',
  '1',
  '2',
  '5',
  '10',
  '-1',
  '-1.5',
  '0.5',
  '1.5',
  '99',
  secretNumber,
  '1e3',
);
const scalars = fc.oneof(strings, numbers, fc.constantFrom('true', 'false', 'null'));
const odd = fc.constantFrom(
  'a',
  'b',
  'z',
  'id',
  '',
  '__proto__',
  'isPrototypeOf',
  '\n',
  'a/b',
  '~',
  'x'.repeat(100),
);

function objectText(members: readonly (readonly [string, Text])[]): Text {
  // A name twice is one member, the last; here it would only hide the first.
  const unique = new Map(members);
  return `{${[...unique].map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`;
}

/** Any JSON. */
const anything: fc.Arbitrary<Text> = fc.letrec<{ text: Text }>((tie) => ({
  text: fc.oneof(
    { depthSize: 'small' },
    scalars,
    fc.array(tie('text'), { maxLength: 3 }).map((items) => `[${items.join(',')}]`),
    fc.array(fc.tuple(odd, tie('text')), { maxLength: 3 }).map(objectText),
  ),
})).text;

/** Mostly what the recipe asks for, at times something else: what is nearly right is what breaks a check. */
export function textOf(recipe: Recipe): fc.Arbitrary<Text> {
  return fc.oneof(
    { weight: 12, arbitrary: fitting(recipe) },
    { weight: 1, arbitrary: anything },
    { weight: 1, arbitrary: scalars },
  );
}

function fitting(recipe: Recipe): fc.Arbitrary<Text> {
  switch (recipe.kind) {
    case 'string':
      return strings;
    case 'number':
    case 'integer':
      return numbers;
    case 'boolean':
      return fc.constantFrom('true', 'false');
    case 'null':
      return fc.constant('null');
    case 'unknown':
    case 'never':
      return anything;
    case 'literal':
      return fc.constant(JSON.stringify(recipe.value));
    case 'array':
      return fc.array(textOf(recipe.of), { maxLength: 4 }).map((items) => `[${items.join(',')}]`);
    case 'tuple':
      return fc.tuple(...recipe.of.map(textOf)).map((items) => `[${items.join(',')}]`);
    case 'record':
      return fc.array(fc.tuple(odd, textOf(recipe.of)), { maxLength: 3 }).map(objectText);
    case 'union':
    case 'intersection':
      return fc.oneof(...recipe.of.map(textOf));
    case 'object':
      return objectValue(recipe.members);
  }
}

function objectValue(members: readonly Member[]): fc.Arbitrary<Text> {
  const parts = members.map(({ name, of }) =>
    fc.tuple(fc.constant(name), fc.option(textOf(of), { nil: undefined, freq: 5 })),
  );
  const more = fc.option(fc.tuple(odd, scalars), { nil: undefined, freq: 2 });
  return fc
    .tuple(fc.tuple(...parts), fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, more))
    .map(([known, other]) => {
      const present = known.flatMap(([name, text]) =>
        text === undefined ? [] : [[name, text] as const],
      );
      return objectText(other === undefined ? present : [...present, other]);
    });
}
