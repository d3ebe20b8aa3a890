import type { TSchema } from '@sinclair/typebox';
import { forEachChild } from './schema-tree.ts';

/** The JSON Schema members that decide the type; a TypeBox schema has the same. */
export interface SchemaLike {
  readonly [keyword: string]: unknown;
}

/** Of schemas in each other. */
export const maxTextDepth = 64;

/** Types that refer to each other are written out as often as they are referred to: past this, a part is `unknown`. */
const maxPieces = 20_000;
const maxShortPieces = 200;

/** What all places of one text share. */
export class TextScope {
  readonly #root: SchemaLike;
  readonly #recursive = new Map<SchemaLike, boolean>();
  #targets: Map<string, SchemaLike> | undefined;
  readonly #beyond: string;
  #piecesLeft: number;

  constructor(root: SchemaLike, isShort: boolean) {
    this.#root = root;
    this.#beyond = isShort ? '…' : 'unknown';
    this.#piecesLeft = isShort ? maxShortPieces : maxPieces;
  }

  /** What stands in place of one more piece, undefined while there may be more. */
  takePiece(): string | undefined {
    this.#piecesLeft -= 1;
    return this.#piecesLeft < 0 ? this.#beyond : undefined;
  }

  /** The named schemas in it. */
  get targets(): ReadonlyMap<string, SchemaLike> {
    if (this.#targets === undefined) {
      this.#targets = new Map();
      collectTargets(this.#root, this.#targets, 0);
    }
    return this.#targets;
  }

  isRecursive(id: string, schema: SchemaLike): boolean {
    let answer = this.#recursive.get(schema);
    if (answer === undefined) {
      answer = refersTo(schema, id, this.targets);
      this.#recursive.set(schema, answer);
    }
    return answer;
  }
}

export function isSchemaLike(value: unknown): value is SchemaLike {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function collectTargets(schema: SchemaLike, targets: Map<string, SchemaLike>, depth: number): void {
  if (depth > maxTextDepth) return;
  if (typeof schema.$id === 'string') targets.set(schema.$id, schema);
  if (isSchemaLike(schema.$defs)) {
    for (const [name, one] of Object.entries(schema.$defs)) {
      if (isSchemaLike(one) && !targets.has(name)) targets.set(name, one);
    }
  }
  for (const child of children(schema)) collectTargets(child, targets, depth + 1);
}

/** Whether writing `schema` out would come to `id` again, through other named schemas too. */
function refersTo(
  schema: SchemaLike,
  id: string,
  targets: ReadonlyMap<string, SchemaLike>,
  seen: Set<SchemaLike> = new Set(),
): boolean {
  if (seen.has(schema)) return false;
  seen.add(schema);
  if (typeof schema.$ref === 'string') {
    const next = refId(schema.$ref);
    if (next === id) return true;
    const target = targets.get(next);
    return target !== undefined && refersTo(target, id, targets, seen);
  }
  return children(schema).some((child) => refersTo(child, id, targets, seen));
}

export function refId($ref: string): string {
  return $ref.replace(/^#\/(?:\$defs|definitions)\//, '');
}

function children(schema: SchemaLike): SchemaLike[] {
  const found: SchemaLike[] = [];
  // Reads keywords alone, which a plain JSON Schema has as well.
  forEachChild(schema as unknown as TSchema, (child) => {
    if (isSchemaLike(child)) found.push(child);
  });
  return found;
}
