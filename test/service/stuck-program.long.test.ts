import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { WebSocket } from 'ws';
import { modulePath, nodeFlags } from '../files.ts';

/** Stuck threads of a process of its own, with flags that concern the inspector. */

interface Run {
  readonly events: { readonly event: string; readonly detail?: string }[];
  readonly end: {
    readonly kills: number;
    readonly zombies: number;
    readonly listeners: [string, number][];
  };
  readonly stderr: string;
}

/** @param attach a client of the inspector, which stays until the program has ended */
async function run(calls: number, flags: readonly string[], attach = false): Promise<Run> {
  const program = modulePath('test/fixtures/service/stuck-program.ts');
  const child = spawn(process.execPath, [...flags, ...nodeFlags, program, `${calls}`]);
  let stderr = '';
  let client: WebSocket | undefined;
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    stderr += chunk;
    // As the usual clients do. One that goes while Node tears down, before it waits, has ended Node 22 by a signal.
    if (stderr.includes('Waiting for the debugger to disconnect')) client?.close();
    const [url] = /ws:\/\/\S+/.exec(stderr) ?? [];
    if (!attach || url === undefined || client !== undefined) return;
    client = new WebSocket(url);
    const opened = client;
    opened.on('error', () => {});
    opened.on('open', () => opened.send('{"id":1,"method":"Runtime.enable"}'));
  });
  const lines: string[] = [];
  createInterface(child.stdout).on('line', (line) => lines.push(line));
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  assert.equal(code ?? signal, 0, stderr);
  const parsed = lines.map((line) => JSON.parse(line) as unknown);
  return { end: parsed.pop() as Run['end'], events: parsed as Run['events'], stderr };
}

/** On a busy machine a thread may get no processor while it is asked. */
function assertStacks({ events }: Run): void {
  const details = events.map(({ detail }) => String(detail));
  const stacks = details.filter((detail) => !detail.startsWith('no stack: in native code'));
  assert.notEqual(stacks.length, 0);
  for (const stack of stacks) assert.match(stack, /^at .*countForEver .*stuck\.[jt]s:\d+:\d+\)$/);
}

test('the program ends by itself after a hundred kills, without zombies or listeners', async () => {
  const once = await run(1, []);
  const often = await run(100, []);
  assert.deepEqual(often.end, { kills: 100, zombies: 0, listeners: once.end.listeners });
  assert.equal(often.events.length, 100);
  for (const { event } of often.events) assert.equal(event, 'worker-killed');
  assertStacks(often);
});

for (const attach of [false, true])
  test(`--inspect ${attach ? 'with' : 'without'} a client changes nothing`, async () => {
    const ended = await run(2, ['--inspect=127.0.0.1:0'], attach);
    assert.equal(ended.end.kills, 2);
    assertStacks(ended);
    assert.equal(ended.stderr.includes('Debugger attached'), attach);
  });

test('without the right to use the inspector threads are ended, with one warning', async () => {
  const isStable = process.allowedNodeEnvironmentFlags.has('--permission');
  const { events, end } = await run(2, [
    isStable ? '--permission' : '--experimental-permission',
    '--allow-worker',
    '--allow-addons',
    '--allow-child-process',
    '--allow-fs-read=*',
    '--allow-fs-write=*',
  ]);
  assert.equal(end.kills, 2);
  assert.deepEqual(
    events.map(({ event, detail }) => [event, detail !== undefined]),
    [
      ['stacks-unavailable', true],
      ['worker-killed', false],
      ['worker-killed', false],
    ],
  );
});
