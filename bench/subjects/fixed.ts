/** The id of the first exchange. The floor computes nothing: it always sends the reply to this exchange. */
export const firstId = 100001;
export const batchSize = 50;

const digits = 1000;

/** Two numbers of one width whose sum also has that width, so that all replies have the same size. */
export function operands(n: number): { a: number; b: number } {
  return { a: digits + ((n * 7) % 3989), b: digits + ((n * 13) % 3989) };
}

export function replyTo(n: number): { jsonrpc: '2.0'; id: number; result: number } {
  const { a, b } = operands(n);
  return { jsonrpc: '2.0', id: firstId + n, result: a + b };
}

export const firstReply = JSON.stringify(replyTo(0));
export const batchReply = JSON.stringify(Array.from({ length: batchSize }, (_, n) => replyTo(n)));
