import type { TSchema } from '@sinclair/typebox';
import { isObject } from '../../jsonrpc/envelope.ts';
import { forEachChild, refId } from './schema-tree.ts';

/** A JSON Schema. A TypeBox schema has the same keywords. */
export interface SchemaLike {
  readonly [keyword: string]: unknown;
}

/** Most levels of schemas within each other. */
export const maxTextDepth = 64;

/** Most pieces of one text. Types are written out at each reference to them; after so many pieces a part is `unknown`. */
const maxPieces = 20_000;
const maxShortPieces = 200;

/** The state that all parts of one type text share. */
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

  /** Counts a piece. @returns the text to write in its place; undefined: write the piece */
  takePiece(): string | undefined {
    this.#piecesLeft -= 1;
    return this.#piecesLeft < 0 ? this.#beyond : undefined;
  }

  /** The named schemas within the root, by id. */
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

function collectTargets(schema: SchemaLike, targets: Map<string, SchemaLike>, depth: number): void {
  if (depth > maxTextDepth) return;
  if (typeof schema.$id === 'string') targets.set(schema.$id, schema);
  if (isObject(schema.$defs)) {
    for (const [name, one] of Object.entries(schema.$defs)) {
      if (isObject(one) && !targets.has(name)) targets.set(name, one);
    }
  }
  for (const child of children(schema)) collectTargets(child, targets, depth + 1);
}

/** Whether writing `schema` out leads to `id` again, directly or through other named schemas. */
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

function children(schema: SchemaLike): SchemaLike[] {
  const found: SchemaLike[] = [];
  // `forEachChild` reads only keywords, and a plain JSON Schema has the same keywords.
  forEachChild(schema as unknown as TSchema, (child) => {
    if (isObject(child)) found.push(child);
  });
  return found;
}
