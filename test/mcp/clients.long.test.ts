/** The official clients, both generations of them: docs/mcp.md, "An SDK client". */
import { after, before, describe, test } from 'node:test';
import { clients, holdToAll } from './official-clients.ts';
import { Stage } from './stage.ts';

describe('official clients over HTTP', () => {
  let stage: Stage;
  before(async () => {
    stage = await Stage.start();
  });
  after(() => stage.close());

  for (const [name, connect, spoken] of clients) {
    test(name, async () => {
      await holdToAll(connect, spoken, new URL(`http://localhost:${stage.port}/mcp`));
    });
  }
});

describe('official clients over stdio, each with a `tandem mcp` of its own', () => {
  for (const [name, connect, spoken] of clients) {
    test(name, () => holdToAll(connect, spoken, undefined));
  }
});
