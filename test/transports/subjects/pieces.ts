/** Cuts bytes into so many pieces of about the same length, or as many as there are bytes. */
export function* piecesOf(bytes: Uint8Array, count: number): Generator<Uint8Array> {
  const length = Math.max(1, Math.ceil(bytes.length / count));
  for (let start = 0; start < bytes.length; start += length) {
    yield bytes.subarray(start, start + length);
  }
}
