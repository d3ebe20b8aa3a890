import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { loadUws } from '../../src/server/http/uws/load.ts';
import { servers } from '../servers.ts';
import { isInFirstLine, requests, statusesOfCuts } from './cut-requests.ts';
import { socketPath } from './raw-client.ts';
import { starter } from './stub-server.ts';

const { fault } = await loadUws();

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
