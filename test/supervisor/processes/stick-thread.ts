import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { ask } from './load.ts';

/**
 * Has a thread of the server stuck in native code: its call has been answered at its deadline, and the native code goes on until
 * there is a file at `path`. Where a busy machine lets the deadline pass before the thread has come to the native code, the
 * thread is ended as any other, and another one is stuck.
 */
export async function stickThread(url: string, path: string): Promise<void> {
  while (!existsSync(`${path}.held`)) {
    const answer = await ask(url, { id: 1, method: 'stuck', params: { path } });
    if ('failure' in answer) continue;
    assert.equal((answer.body as { error?: { code: number } }).error?.code, -32001);
  }
}
