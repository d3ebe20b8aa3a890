import type { TSchema } from '@sinclair/typebox';
import { forEachChild, kindOf, listOf } from './schema-tree.ts';

/**
 * Whether a type that holds itself has a union of which two variants hold it. A library that tries one variant after
 * another may then look at each part of a value twice, and at its parts four times.
 */
export function branchesWithin(schema: TSchema): boolean {
  const visit = (node: TSchema): boolean => {
    if (kindOf(node) === 'Union' && listOf(node.anyOf).filter(refers).length > 1) return true;
    let found = false;
    forEachChild(node, (child) => {
      found ||= visit(child);
    });
    return found;
  };
  return visit(schema);
}

/** Whether a part of the schema is a reference: those of another library's schema lead to a type around it. */
function refers(schema: TSchema): boolean {
  let found = kindOf(schema) === 'Ref';
  forEachChild(schema, (child) => {
    found ||= refers(child);
  });
  return found;
}
