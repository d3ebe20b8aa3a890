/** The official clients, both generations of them, each with a `tandem mcp` of its own: docs/mcp.md, "An SDK client". */
import { describe, test } from 'node:test';
import { clients, holdToAll } from './official-clients.ts';

describe('official clients over stdio', () => {
  for (const [name, connect, spoken] of clients) {
    test(name, () => holdToAll(connect, spoken, undefined));
  }
});
