import assert from 'node:assert/strict';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as EarlierClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as EarlierStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as EarlierHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { modulePath, nodeFlags, root } from '../files.ts';
import { patienceVariables } from '../patience.ts';
import { tools, version } from './stage.ts';

/** What is asked of each client. */
interface Connected {
  readonly version: string | undefined;
  list(): Promise<readonly { readonly name: string }[]>;
  call(name: string, given?: Record<string, unknown>, options?: Options): Promise<Result>;
  close(): Promise<void>;
}

interface Options {
  readonly onprogress?: (note: { readonly progress: number }) => void;
  readonly signal?: AbortSignal;
}

interface Result {
  readonly content: readonly { readonly type: string; readonly text?: string }[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean | undefined;
}

const info = { name: 'test', version: '1.0.0' };
const limits = { timeout: 600_000 };

const command = {
  command: process.execPath,
  args: [
    ...nodeFlags,
    modulePath('src/cli/main.ts'),
    'mcp',
    tools,
    '--workers',
    '1',
    '--spare-workers',
    '0',
    '--log-level',
    'error',
  ],
  cwd: root,
  env: { ...(process.env as Record<string, string>), ...patienceVariables },
};

/** @param url undefined: the client starts `tandem mcp` itself */
type Connect = (url: URL | undefined) => Promise<Connected>;

const connectLater =
  (mode: 'legacy' | { readonly pin: string }): Connect =>
  async (url) => {
    const client = new Client(info, { versionNegotiation: { mode } });
    const transport =
      url === undefined
        ? new StdioClientTransport(command)
        : new StreamableHTTPClientTransport(url);
    await client.connect(transport, limits);
    return {
      version: client.getNegotiatedProtocolVersion(),
      list: async () => (await client.listTools()).tools,
      call: async (name, given = {}, options = {}) =>
        (await client.callTool({ name, arguments: given }, { ...limits, ...options })) as Result,
      close: () => client.close(),
    };
  };

const connectEarlier: Connect = async (url) => {
  const client = new EarlierClient(info);
  const transport = url === undefined ? new EarlierStdio(command) : new EarlierHttp(url);
  // Its own types do not allow for exactOptionalPropertyTypes.
  await client.connect(transport as Parameters<EarlierClient['connect']>[0], limits);
  return {
    version: '2025-11-25',
    list: async () => (await client.listTools()).tools,
    call: async (name, given = {}, options = {}) =>
      (await client.callTool({ name, arguments: given }, undefined, {
        ...limits,
        ...options,
      })) as unknown as Result,
    close: () => client.close(),
  };
};

/** By name: how it connects, and the version that it agrees on. */
export const clients: readonly (readonly [string, Connect, string])[] = [
  ['sdk 1', connectEarlier, '2025-11-25'],
  ['client 2, legacy', connectLater('legacy'), '2025-11-25'],
  ['client 2, modern', connectLater({ pin: version }), version],
];

/** Asks a client for everything that it can do. */
export async function holdToAll(
  connect: Connect,
  spoken: string,
  url: URL | undefined,
): Promise<void> {
  const client = await connect(url);
  try {
    assert.equal(client.version, spoken);
    const names = (await client.list()).map((tool) => tool.name);
    assert.ok(names.includes('math_add') && names.includes('picture'));
    assert.ok(!names.includes('secret'));
    // The clients check structured results by the schemas of the list.
    const sum = await client.call('math_sum', { a: 1, b: 2 });
    assert.equal(sum.content[0]?.text, '3');
    assert.deepEqual(sum.structuredContent, spoken === version ? 3 : { result: 3 });
    const user = await client.call('users_get', { id: 'u' });
    assert.deepEqual(user.structuredContent, { id: 'u', tags: ['a"b', 'é\\'] });
    const pair = await client.call('pair', { pair: [1, 'x'] });
    assert.deepEqual(pair.structuredContent, { pair: [1, 'x'] });
    const failed = await client.call('math_divide', { a: 1, b: 0 });
    assert.equal(failed.isError, true);
    assert.match(failed.content[0]?.text ?? '', /^Division by zero \(1001\)/);
    const { content } = await client.call('picture');
    assert.deepEqual(
      content.map(({ type }) => type),
      ['text', 'image'],
    );
    const seen: number[] = [];
    const onprogress = ({ progress }: { readonly progress: number }): void => {
      seen.push(progress);
    };
    const steps = await client.call('steps', { n: 3 }, { onprogress });
    assert.deepEqual(steps.structuredContent, { done: 3 });
    // These clients forget who asked as soon as the result has come, in the same packet say.
    assert.deepEqual(seen, [0, 1, 2].slice(0, seen.length));
    await assert.rejects(client.call('nope'), /Unknown tool: nope/);
    const leaving = new AbortController();
    const waits = client.call('waits', {}, { signal: leaving.signal });
    leaving.abort();
    await assert.rejects(waits);
    // It goes on.
    assert.equal((await client.call('math_add', { a: 1, b: 1 })).content[0]?.text, '2');
  } finally {
    await client.close();
  }
}
