import { it } from 'node:test';
import { play } from './play.ts';

it('docs/recipes/nextjs.md', async (t) => {
  const { terminal } = await play('nextjs');
  t.after(() => terminal.close());
});
