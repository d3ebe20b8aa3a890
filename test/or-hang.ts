/** Until a hang of a soak is told. */
const soakHangMs = 300_000;

/**
 * A hang must become a failure that can be repeated; nothing else depends on the time.
 *
 * @throws Error the promise has not settled for `hangMs`
 */
export async function orHang<Value>(
  what: string,
  promise: Promise<Value>,
  hangMs: number = soakHangMs,
): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const hang = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: nothing for ${hangMs} ms`)), hangMs);
  });
  try {
    return await Promise.race([promise, hang]);
  } finally {
    clearTimeout(timer);
  }
}
