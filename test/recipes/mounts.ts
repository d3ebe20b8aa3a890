/** What holds of each server that a recipe mounts procedures in. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { TestContext } from 'node:test';
import { cleanEnvironment, Running } from '../cli/process.ts';
import { postJson } from '../post-json.ts';

const headers = {
  'content-type': 'application/json',
  authorization: 'Bearer anns-token',
};

/** The endless stream that a recipe has, by its name and params. */
const endless = { jsonrpc: '2.0', id: 1, method: 'ticks', params: { to: 1e9 } };

interface Host {
  /** In the folder of the recipe. */
  readonly command: readonly string[];
  readonly folder: string;
  /** How the process ends: Nest ends itself by the signal again. */
  readonly end: { readonly code: number | null; readonly signal: NodeJS.Signals | null };
}

/** Starts the server of a recipe by itself, sends SIGTERM while a stream is open, and expects the stream's end and the process's. */
export async function endsWithItsStreams(t: TestContext, { command, folder, end }: Host) {
  const [program = '', ...args] = command;
  const env = cleanEnvironment({ PORT: '0', TANDEM_WORKERS: '1', TANDEM_SPARE_WORKERS: '0' });
  const server = new Running(spawn(program, args, { cwd: folder, env }));
  t.after(() => server.child.kill('SIGKILL'));
  const [, origin = ''] = await server.seen('stdout', /(http:\/\/127\.0\.0\.1:\d+)/);
  const refused = await postJson(`${origin}/rpc`, { jsonrpc: '2.0', id: 1, method: 'whoAmI' });
  assert.doesNotMatch(await refused.text(), /result/);
  const accept = 'text/event-stream';
  const stream = await postJson(`${origin}/rpc`, endless, { ...headers, accept });
  assert.match(stream.headers.get('content-type') ?? '', /^text\/event-stream/);
  let text = '';
  for await (const chunk of stream.body ?? []) {
    if (text === '') server.child.kill('SIGTERM');
    text += Buffer.from(chunk).toString();
  }
  const last = text.trimEnd().split('\n\n').at(-1)?.replace('data: ', '') ?? '';
  const { error } = JSON.parse(last) as { error: { code: number; data: { reason: string } } };
  assert.equal(error.code, -32003);
  assert.equal(error.data.reason, 'shutdown');
  const { code, signal } = await server.exit;
  assert.deepEqual({ code, signal }, end, server.stderr);
}
