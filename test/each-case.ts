/**
 * Checks many cases within one test: a test of its own costs more than most of the checks. All are checked, whichever fails.
 *
 * @throws Error that names each case that failed, and why; its cause is the first failure
 */
export async function checkEach<Item>(
  items: Iterable<Item>,
  nameOf: (item: Item) => string,
  check: (item: Item) => Promise<void>,
): Promise<void> {
  const failures: string[] = [];
  let first: unknown;
  for (const item of items) {
    try {
      await check(item);
    } catch (error) {
      first ??= error;
      failures.push(`${nameOf(item)}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  if (failures.length === 0) return;
  throw new Error(`${failures.length} failed\n${failures.join('\n')}`, { cause: first });
}
