/**
 * The part of a document that a gateway asks for.
 *
 * @param request `{"from":n}`: the first byte
 * @param most bytes of the part
 * @throws Error for what is no such request
 */
export function documentPart(document: Uint8Array, request: Uint8Array, most: number): Uint8Array {
  const { from } = JSON.parse(Buffer.from(request).toString()) as { readonly from: unknown };
  if (typeof from !== 'number') throw new Error('a request for a document without its place');
  return document.subarray(from, from + most);
}
