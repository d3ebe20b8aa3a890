import { asObject, type JsonSchema, kindOf, resolve } from '../schema/resolve.ts';

/** A place in a JSON text. */
export interface Place {
  /** Names of members that lead there; `*` for an item of a list. */
  readonly path: readonly string[];
  /** Whether the name of a member is to come, or its value. */
  readonly isName: boolean;
  /** Names that are there already. */
  readonly present: readonly string[];
  /** Where what was typed of it begins. */
  readonly from: number;
}

/** What the schema allows at a place, as JSON text. */
export function suggestionsAt(root: JsonSchema, { path, isName, present }: Place): string[] {
  let schemas: readonly JsonSchema[] = alternatives(root, root);
  for (const name of path) {
    schemas = schemas.flatMap((schema) => {
      const next = name === '*' ? schema.items : asObject(schema.properties)[name];
      return next === undefined ? [] : alternatives(asObject(next), root);
    });
  }
  const found = schemas.flatMap((schema) => {
    if (isName) {
      return Object.keys(asObject(schema.properties))
        .filter((name) => !present.includes(name))
        .map((name) => `${JSON.stringify(name)}: `);
    }
    const kind = kindOf(schema);
    if (kind.kind === 'choice') return kind.values.map((value) => JSON.stringify(value));
    if (kind.kind === 'switch') return ['true', 'false'];
    if (kind.kind === 'null') return ['null'];
    const { examples } = schema;
    return Array.isArray(examples) ? examples.map((example) => JSON.stringify(example)) : [];
  });
  return [...new Set(found)];
}

/** The schema itself, or what it lets choose from. */
function alternatives(schema: JsonSchema, root: JsonSchema): readonly JsonSchema[] {
  const found = resolve({ schema, root }).schema;
  const kind = kindOf(found);
  if (kind.kind !== 'variants') return [found];
  return kind.variants.map((variant) => resolve({ schema: variant, root }).schema);
}
