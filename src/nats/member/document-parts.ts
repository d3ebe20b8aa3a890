/** Bytes of one part of a document. */
const partBytes = 512 * 1024;

/**
 * The part of a document that a gateway asks for.
 *
 * @param request `{"from":n}`: the first byte
 * @throws Error for what is no such request
 */
export function documentParts(
  document: Uint8Array,
  request: Uint8Array,
): { readonly part: Uint8Array; readonly total: number } {
  const { from } = JSON.parse(Buffer.from(request).toString()) as { readonly from: unknown };
  if (typeof from !== 'number') throw new Error('a request for a document without its place');
  return { part: document.subarray(from, from + partBytes), total: document.byteLength };
}
