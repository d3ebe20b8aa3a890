import { describe, it } from 'node:test';
import { endsWithItsStreams } from './mounts.ts';
import { play } from './play.ts';

describe('docs/recipes/hono-express.md', () => {
  it('answers calls and streams in both, and ends with them', async (t) => {
    const { terminal, folder } = await play('hono-express');
    t.after(() => terminal.close());
    const end = { code: 0, signal: null };
    for (const file of ['on-hono.ts', 'on-express.ts']) {
      const command = [process.execPath, '--import', 'tsx', file];
      await endsWithItsStreams(t, { command, folder, end });
    }
  });
});
