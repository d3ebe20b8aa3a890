import { type TSchema, Type } from '@sinclair/typebox';
import fc from 'fast-check';

/** A type of types that refer to each other, as data. */
export type Part =
  | { readonly kind: 'number' | 'null' | 'string' }
  | { readonly kind: 'literal'; readonly value: string }
  | { readonly kind: 'ref'; readonly to: string }
  | { readonly kind: 'array' | 'set' | 'record' | 'not'; readonly of: Part }
  | { readonly kind: 'tuple' | 'union' | 'intersection'; readonly of: readonly Part[] }
  | {
      readonly kind: 'object';
      readonly members: readonly { readonly name: string; readonly of: Part }[];
      /** Whether members may be missing; whether there may be others, and of which type. */
      readonly isOptional: boolean;
      readonly others: boolean | Part;
    };

/** Named types, of which the first is the whole: recursive by many ways, shared, or both. */
export type Knot = Readonly<Record<string, Part>>;

const typeNames = ['A', 'B', 'C'];
/** Few, so that objects overlap. */
const memberNames = ['left', 'right', 'op'];

const leaf: fc.Arbitrary<Part> = fc.oneof(
  fc.record({ kind: fc.constantFrom('number' as const, 'null' as const, 'string' as const) }),
  fc.record({ kind: fc.constant('literal' as const), value: fc.constantFrom('+', '-') }),
);
const ref: fc.Arbitrary<Part> = fc.record({
  kind: fc.constant('ref' as const),
  to: fc.constantFrom(...typeNames),
});

function listOf(of: fc.Arbitrary<Part>, kind: 'tuple' | 'union' | 'intersection') {
  return fc.record({
    kind: fc.constant(kind),
    of: fc.array(of, { minLength: 1, maxLength: 3 }),
  });
}

function objectOf(of: fc.Arbitrary<Part>): fc.Arbitrary<Part> {
  const member = fc.record({ name: fc.constantFrom(...memberNames), of });
  return fc.record({
    kind: fc.constant('object' as const),
    members: fc.uniqueArray(member, { minLength: 1, maxLength: 3, selector: ({ name }) => name }),
    isOptional: fc.boolean(),
    others: fc.oneof(
      { weight: 3, arbitrary: fc.boolean() },
      { weight: 1, arbitrary: of as fc.Arbitrary<boolean | Part> },
    ),
  });
}

const part: fc.Arbitrary<Part> = fc.letrec<{ part: Part }>((tie) => {
  const of = tie('part');
  return {
    part: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      leaf,
      ref,
      { weight: 3, arbitrary: objectOf(of) },
      { weight: 3, arbitrary: listOf(of, 'union') },
      listOf(of, 'intersection'),
      listOf(of, 'tuple'),
      fc.record({
        kind: fc.constantFrom('array' as const, 'set' as const, 'record' as const, 'not' as const),
        of,
      }),
    ),
  };
}).part;

/** Where each alternative is an object that holds the type again: what makes a naive check start over. */
const branching: fc.Arbitrary<Part> = fc
  .array(objectOf(fc.oneof({ weight: 3, arbitrary: ref }, part)), { minLength: 2, maxLength: 4 })
  .chain((of) =>
    fc.constantFrom<Part>(
      { kind: 'union', of: [{ kind: 'number' }, ...of] },
      { kind: 'intersection', of },
    ),
  );

export const knot: fc.Arbitrary<Knot> = fc.record({ A: branching, B: part, C: part });

function build(part: Part): TSchema {
  switch (part.kind) {
    case 'number':
      return Type.Number();
    case 'string':
      return Type.String({ maxLength: 3 });
    case 'null':
      return Type.Null();
    case 'literal':
      return Type.Literal(part.value);
    case 'ref':
      return Type.Ref(part.to);
    case 'array':
      return Type.Array(build(part.of), { maxItems: 20 });
    case 'set':
      return Type.Array(build(part.of), { uniqueItems: true });
    case 'record':
      return Type.Record(Type.String(), build(part.of));
    case 'not':
      return Type.Not(build(part.of));
    case 'tuple':
      return Type.Tuple(part.of.map(build));
    case 'union':
      return Type.Union(part.of.map(build));
    case 'intersection':
      return Type.Intersect(part.of.map(build));
    case 'object': {
      const members = part.members.map(({ name, of }) => {
        const schema = build(of);
        return [name, part.isOptional ? Type.Optional(schema) : schema] as const;
      });
      const { others } = part;
      return Type.Object(Object.fromEntries(members), {
        additionalProperties: typeof others === 'boolean' ? others : build(others),
      });
    }
  }
}

/** `{ v: A }`. */
export function schemaOf(knot: Knot) {
  const types = Object.fromEntries(Object.entries(knot).map(([name, of]) => [name, build(of)]));
  const module = Type.Module(types);
  return Type.Object({ v: module.Import('A') as TSchema });
}

export function partsOf(part: Part): number {
  if (part.kind === 'object') {
    const others = typeof part.others === 'boolean' ? 0 : partsOf(part.others);
    return part.members.reduce((sum, { of }) => sum + partsOf(of), 1 + others);
  }
  if (!('of' in part)) return 1;
  const list = 'kind' in part.of ? [part.of] : part.of;
  return list.reduce((sum, of) => sum + partsOf(of), 1);
}
