/** All that a generator gives, and what it returns. */
export async function drained<T, R>(
  stream: AsyncIterable<T, R>,
): Promise<{ values: T[]; returned: R }> {
  const values: T[] = [];
  const iterator = stream[Symbol.asyncIterator]();
  for (;;) {
    const { done, value } = await iterator.next();
    if (done === true) return { values, returned: value };
    values.push(value);
  }
}
