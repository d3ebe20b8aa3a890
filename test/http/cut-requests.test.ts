import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { loadUws } from '../../src/server/http/uws/load.ts';
import { servers } from '../servers.ts';
import { post, type RawClient, request, rpc, socketPath } from './raw-client.ts';
import { starter } from './stub-server.ts';

const { fault } = await loadUws();

/** Requests whose pieces a server must put together, by what is cut. */
const requests: Readonly<Record<string, Buffer>> = {
  'a POST': post(rpc('echo', 'aé€😀z')),
  'a POST of no bytes': post(''),
  'a GET with a query': Buffer.from(request('GET', `/rpc?${'x'.repeat(100)}`)),
};

/** Where the first line of a request ends. Before the fourth byte no parser can take it for a request line. */
function isInFirstLine(bytes: Buffer, cut: number): boolean {
  return cut >= 4 && cut <= bytes.indexOf('\n');
}

/**
 * Sends a request once for each of its bytes, in two pieces that are cut there. The second piece leaves after the server has read the
 * first one: then it has answered two requests of another connection.
 *
 * @returns the status of each answer, that of a cut behind the first byte at 0; its body is that of a request in one piece
 */
async function statusesOfCuts(connect: () => RawClient, bytes: Buffer): Promise<number[]> {
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

for (const transport of servers) {
  describe(`requests in two pieces on ${transport}`, () => {
    for (const [what, bytes] of Object.entries(requests)) {
      test(`${what} is answered wherever it is cut, but for the binaries whose fault the start tells`, async (t) => {
        // Pieces are at a reader of a Unix socket at once; a busy Linux passes on what goes by TCP later.
        const { client } = await starter(transport)(t, { socket: socketPath() });
        const statuses = await statusesOfCuts(client, bytes);
        const expected = statuses.map((_, i) =>
          transport === 'uws' && fault !== undefined && isInFirstLine(bytes, i + 1) ? 505 : 200,
        );
        assert.deepEqual(statuses, expected);
      });
    }
  });
}
