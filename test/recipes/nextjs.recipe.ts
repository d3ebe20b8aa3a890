import { join } from 'node:path';
import { describe, it } from 'node:test';
import { endsWithItsStreams } from './mounts.ts';
import { play } from './play.ts';

describe('docs/recipes/nextjs.md', () => {
  it('answers calls and streams in a route, and ends with Next', async (t) => {
    const { terminal, folder } = await play('nextjs');
    t.after(() => terminal.close());
    const next = join(folder, '../node_modules/.bin/next');
    const command = [next, 'start', '--hostname', '127.0.0.1'];
    // Next ends by itself when its connections have ended.
    await endsWithItsStreams(t, { command, folder, end: { code: 143, signal: null } });
  });
});
