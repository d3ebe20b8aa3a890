import { describe, it } from 'node:test';
import { endsWithItsStreams } from './mounts.ts';
import { play } from './play.ts';

describe('docs/recipes/nestjs.md', () => {
  it('answers calls and streams beside the controllers, and ends with Nest', async (t) => {
    const { terminal, folder } = await play('nestjs');
    t.after(() => terminal.close());
    // Nest's hooks end the process by the same signal when they are done.
    const end = { code: null, signal: 'SIGTERM' } as const;
    const command = [process.execPath, '--import', 'tsx', 'main.ts'];
    await endsWithItsStreams(t, { command, folder, end });
  });
});
