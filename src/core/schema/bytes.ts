import { forEachPart, type SchemaNode } from './model.ts';

/** Bytes as base64 text with padding (RFC 4648, section 4). */

/**
 * Bytes that have come as base64 text, which `new Blob([bytes])` takes: `Uint8Array<ArrayBuffer>`. TypeScript before 5.7 has
 * no such parameter, and `Uint8Array` alone means what it needs to mean there. As in the client's contract, which knows nothing
 * of this side.
 */
export type Bytes = ReturnType<Uint8ArrayConstructor['of']>;

/** Whether a value is base64 text of at most so many bytes. */
export function bytesFit(value: unknown, maxBytes: number | undefined): boolean {
  if (typeof value !== 'string') return false;
  // Before the text is decoded: that takes a time that grows with its length.
  if (
    maxBytes !== undefined &&
    (value.length > base64Length(maxBytes) || lengthOf(value) > maxBytes)
  )
    return false;
  return isBase64(value);
}

/** The length of the text of so many bytes. */
export function base64Length(bytes: number): number {
  return Math.ceil(bytes / 3) * 4;
}

/** The bytes that base64 text of a valid length stands for. */
export function lengthOf(text: string): number {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  return (text.length / 4) * 3 - padding;
}

/**
 * Whether a text is base64 with padding. Decodes it and compares lengths, which takes an eighth of the time of a regular
 * expression: the decoder leaves out what is no base64, but takes the two characters of base64url as well.
 */
export function isBase64(text: string): boolean {
  if (text.length % 4 !== 0 || text.includes('-') || text.includes('_')) return false;
  // The decoder reads the low byte of each character: it takes U+0141 for an A. In a text of bytes nothing is searched.
  if (/[\u0100-\uffff]/.test(text)) return false;
  return Buffer.from(text, 'base64').length === lengthOf(text);
}

export function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

/** @param text valid base64 */
export function fromBase64(text: string): Bytes {
  const { buffer, byteOffset, length } = Buffer.from(text, 'base64');
  // Few bytes lie in a pool, beside those of others.
  return length === buffer.byteLength
    ? new Uint8Array(buffer)
    : new Uint8Array(buffer, byteOffset, length).slice();
}

/** Most places of bytes in one schema, most nodes that are looked at for them, and most levels. */
const maxPlaces = 100;
const maxVisited = 10_000;
const maxLevels = 200;

/** JSON Pointers to the bytes in a value, `*` for each item or member; within a type that holds itself, on its first level. */
export function bytesWithin(root: SchemaNode | undefined): string[] {
  const places = new Set<string>();
  let visited = 0;
  const visit = (node: SchemaNode, path: string, open: readonly SchemaNode[]): void => {
    visited += 1;
    const isFull = visited > maxVisited || places.size >= maxPlaces || open.length >= maxLevels;
    if (isFull || open.includes(node)) return;
    const around = [...open, node];
    if (node.kind === 'bytes') places.add(path);
    else if (node.kind === 'ref') visit(node.target, path, around);
    // What `not`, `contains` and names are about is not sent as such.
    else if (node.kind !== 'not')
      forEachPart(node, (part, step) => {
        const isItem = node.kind !== 'array' || part !== node.contains;
        if (isItem && step !== undefined) visit(part, path + step, around);
      });
  };
  if (root !== undefined) visit(root, '', []);
  return [...places];
}
