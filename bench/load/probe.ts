import { isDeepStrictEqual } from 'node:util';
import { Connection } from './connection.ts';
import type { Goal } from './request.ts';

/** The body of a request, and the value of its right reply. The value, since rivals order and space the members in their own ways. */
export interface Question {
  readonly body: string;
  readonly expected: unknown;
}

/** Asks each question once. @throws Error where a reply is wrong, or the sizes of the replies differ */
export async function probe(
  port: number,
  path: string,
  questions: readonly Question[],
): Promise<Goal> {
  const connection = await Connection.open(port);
  try {
    const sizes = new Set<number>();
    const exchanges = [];
    for (const { body, expected } of questions) {
      const response = await connection.post(path, body);
      if (response.status !== 200 || !isDeepStrictEqual(JSON.parse(response.body), expected)) {
        const wanted = JSON.stringify(expected);
        throw new Error(`${body} gave ${response.status} ${response.body} and not ${wanted}`);
      }
      sizes.add(response.bytes);
      exchanges.push({ body, reply: response.body });
    }
    const [responseBytes = 0] = sizes;
    if (sizes.size !== 1) throw new Error(`replies of ${[...sizes].join(' and ')} bytes`);
    return { port, path, exchanges, responseBytes };
  } finally {
    connection.close();
  }
}
