import { CodegenError } from './text.ts';

/** A JSON object as it was parsed. Nothing about its members has been checked. */
export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object's own member of that name. Inherited ones, such as `constructor`, are not found. */
export function own(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

export function stringOf(object: JsonObject, name: string): string | undefined {
  const value = own(object, name);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function listOf(object: JsonObject, name: string): readonly unknown[] {
  const value = own(object, name);
  return Array.isArray(value) ? value : [];
}

/** Most levels of a document. All code that reads a document recurses as deep as the document nests. */
const maxDepth = 200;

/**
 * Checks how deep a document nests, without recursion.
 *
 * @throws CodegenError for a document that nests deeper than `maxDepth`
 */
export function assertDepth(document: unknown): void {
  let level = [document];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > maxDepth) {
      throw new CodegenError(`the document nests deeper than ${maxDepth} levels`);
    }
    const next: unknown[] = [];
    for (const value of level) {
      if (typeof value !== 'object' || value === null) continue;
      for (const child of Object.values(value)) {
        if (typeof child === 'object' && child !== null) next.push(child);
      }
    }
    level = next;
  }
}
