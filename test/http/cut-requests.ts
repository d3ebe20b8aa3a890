import assert from 'node:assert/strict';
import { post, type RawClient, request, rpc } from './raw-client.ts';

/** Requests whose pieces a server must put together, by what is cut. */
export const requests: Readonly<Record<string, Buffer>> = {
  'a POST': post(rpc('echo', 'aé€😀z')),
  'a POST of no bytes': post(''),
  'a GET with a query': Buffer.from(request('GET', `/rpc?${'x'.repeat(100)}`)),
};

/** Where the first line of a request ends. Before the fourth byte no parser can take it for a request line. */
export function isInFirstLine(bytes: Buffer, cut: number): boolean {
  return cut >= 4 && cut <= bytes.indexOf('\n');
}

/**
 * Sends a request once for each of its bytes, in two pieces that are cut there. The second piece leaves after the server has read the
 * first one: then it has answered two requests of another connection.
 *
 * @returns the status of each answer, that of a cut behind the first byte at 0; its body is that of a request in one piece
 */
export async function statusesOfCuts(connect: () => RawClient, bytes: Buffer): Promise<number[]> {
  const cuts = Array.from({ length: bytes.length - 1 }, (_, i) => i + 1);
  const clients = cuts.map(() => connect());
  await Promise.all(clients.map((client, i) => client.write(bytes.subarray(0, cuts[i]))));
  const other = connect();
  await other.ask(bytes);
  const whole = await other.ask(bytes);
  const answers = clients.map(async (client, i) => {
    await client.write(bytes.subarray(cuts[i]));
    const { status, body } = await client.response();
    if (status === whole.status) assert.ok(body.equals(whole.body), `cut at ${cuts[i]}`);
    return status;
  });
  return Promise.all(answers);
}
