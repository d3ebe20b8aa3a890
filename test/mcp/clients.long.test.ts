/** The official clients, both generations of them: docs/mcp.md, "An SDK client". */
import { before, describe, test } from 'node:test';
import { suiteLifetime } from '../harness.ts';
import { clients, holdToAll } from './official-clients.ts';
import { Stage } from './stage.ts';

describe('official clients over HTTP', () => {
  const lifetime = suiteLifetime();
  let stage: Stage;
  before(async () => {
    stage = await Stage.start(lifetime);
  });

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
